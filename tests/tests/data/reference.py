"""Reads every elevation file of the shared data with other people's readers and writes reference.json beside this script.

Needs rasterio (GDAL), numpy, OpenEXR, pypng, zstandard and blake3. Run as

    python3 tests/tests/data/reference.py ../shared/data

Each entry says how to import the file (options of the command line) and what must come of it: size, voids, lowest and
highest height in metres, blake3 of every raw value as little-endian f64 (voids as -1.7976931348623157e308), and blake3
of every height in quanta as little-endian i32 (voids as -2^31), rounded half up with integers here.
"""

import json
import os
import struct
import sys
import warnings
import zipfile

import blake3
import numpy as np
import OpenEXR
import png
import rasterio
import zstandard

warnings.simplefilter("ignore")
VOID = -1.7976931348623157e308


def member(path):
    """The only member of an archive."""
    with zipfile.ZipFile(path) as archive:
        (name,) = archive.namelist()
        return archive.read(name)


def hgt(path):
    data = member(path) if path.endswith(".zip") else open(path, "rb").read()
    side = int(round((len(data) // 2) ** 0.5))
    values = np.frombuffer(data, ">i2").reshape(side, side)
    return values, values == -32768


def gdal(path, band=1):
    if path.endswith(".zip"):
        path = "/vsizip/" + path + "/" + os.path.basename(path)[:-4]
    with rasterio.open(path) as raster:
        values = raster.read(band)
        nodata, transform = raster.nodata, raster.transform
    # A georeference whose y grows with the rows has its first row in the south; without one (GDAL says the identity)
    # the first row is north.
    if transform.e > 0 and transform != rasterio.Affine.identity():
        values = values[::-1]
    if nodata is None:
        return values, np.zeros(values.shape, bool)
    return values, (np.isnan(values) if np.isnan(nodata) else values == values.dtype.type(nodata))


def gdal_rgb(path):
    with rasterio.open(path) as raster:
        r, g, b = (raster.read(i).astype(np.int64) for i in (1, 2, 3))
    codes = (r << 16) | (g << 8) | b
    return codes, np.zeros(codes.shape, bool)


def pixels(path):
    """The samples of a PNG: rows, columns, channels; gamma is nobody's business. pypng de-interlaces."""
    width, height, rows, info = png.Reader(filename=path).read()
    dtype = np.uint16 if info["bitdepth"] == 16 else np.uint8
    values = np.vstack([np.array(row, dtype) for row in rows])
    return values.reshape(height, width, info["planes"]), info


def grey(path):
    values, info = pixels(path)
    voids = np.zeros(values.shape[:2], bool)
    if info.get("alpha"):
        voids |= values[..., -1] == 0
    if info.get("transparent") is not None:
        voids |= values[..., 0] == info["transparent"]
    if values.shape[2] >= 3:
        assert (values[..., 0] == values[..., 1]).all() and (values[..., 0] == values[..., 2]).all()
    return values[..., 0], voids


def channel(index):
    def read(path):
        values, _ = pixels(path)
        return values[..., index], np.zeros(values.shape[:2], bool)

    return read


def png_rgb(path):
    values, _ = pixels(path)
    v = values.astype(np.int64)
    return (v[..., 0] << 16) | (v[..., 1] << 8) | v[..., 2], np.zeros(v.shape[:2], bool)


def exr(name):
    def read(path):
        with OpenEXR.File(path, separate_channels=True) as file:
            values = file.channels()[name].pixels
        return values, ~np.isfinite(values)

    return read


def asc(path):
    """ESRI ASCII grid, after its published description."""
    keys, words = {}, open(path).read().split()
    while words and words[0][0].isalpha():
        keys[words[0].lower()] = float(words[1])
        words = words[2:]
    values = np.array([float(w) for w in words]).reshape(int(keys["nrows"]), int(keys["ncols"]))
    voids = values == keys["nodata_value"] if "nodata_value" in keys else np.zeros(values.shape, bool)
    return values, voids


def raw(dtype, width, height, south_up=False, nodata=None):
    def read(path):
        values = np.fromfile(path, dtype).reshape(height, width)
        values = values[::-1] if south_up else values
        return values, (values == nodata if nodata is not None else np.zeros(values.shape, bool))

    return read


def npz(name, south_up=False):
    def read(path):
        values = np.load(path)[name]
        return (values[::-1] if south_up else values), np.zeros(values.shape, bool)

    return read


def terrain3d(path):
    """The first byte array of 4 MiB in the unpacked resource: 1024 x 1024 floats."""
    data = open(path, "rb").read()
    assert data[:4] == b"RSCC"
    mode, block, total = struct.unpack("<III", data[4:16])
    assert mode == 2
    count = total // block + 1
    sizes = struct.unpack("<%dI" % count, data[16 : 16 + 4 * count])
    at, out = 16 + 4 * count, b""
    parts = []
    for i, size in enumerate(sizes):
        want = block if i + 1 < count else total % block
        parts.append(zstandard.ZstdDecompressor().decompress(data[at : at + size], max_output_size=want))
        at += size
    out = b"".join(parts)
    assert len(out) == total
    tag = struct.pack("<II", 31, 4 * 1024 * 1024)
    arrays, at = [], out.find(tag)
    while at >= 0:
        arrays.append(out[at + 8 : at + 8 + 4 * 1024 * 1024])
        at = out.find(tag, at + 8 + 4 * 1024 * 1024)
    heights = np.frombuffer(arrays[0], "<f4").reshape(1024, 1024)
    assert abs(float(heights.min()) + 50.951) < 1e-3 and abs(float(heights.max()) - 365.617) < 1e-3
    return heights, np.zeros(heights.shape, bool)


METRES = ("metres",)


def levels(low, high, top=65535):
    return ("levels", low, high, top)


def codes(base, step_inverse):
    """metres = base + code / step_inverse"""
    return ("codes", base, step_inverse)


G16 = "--spacing 2 --min 250 --max 6929"
SUITE = "--spacing 1 --min 0 --max 100"
ANDES = levels(250, 6929)
SUITE16 = levels(0, 100)
DEAD = "--spacing 1 --min -500 --max 1500"
DEADSEA = levels(-500, 1500)
# file, options, reader, meaning, k
FILES = [
    ("derived-hgt-odd/all_void_N00E000.hgt.zip", "--spacing 30", hgt, METRES, 7),
    ("derived-hgt-odd/cliffs_spikes_S01W001.hgt.zip", "--spacing 30", hgt, METRES, 7),
    ("derived-hgt-odd/extreme_values_S01E000.hgt.zip", "--spacing 30", hgt, METRES, 7),
    ("derived-hgt-odd/flat_zero_N00W030.hgt.zip", "--spacing 30", hgt, METRES, 7),
    ("derived-hgt-odd/seam_left_257x257_i16le.raw", "--spacing 30 --signed --byte-order little --nodata -32767", raw("<i2", 257, 257, nodata=-32767), METRES, 7),
    ("derived-hgt-odd/seam_right_257x257_i16le.raw", "--spacing 30 --signed --byte-order little --nodata -32767", raw("<i2", 257, 257, nodata=-32767), METRES, 7),
    ("derived-hgt-odd/seam_right_lifted10_257x257_i16le.raw", "--spacing 30 --signed --byte-order little --nodata -32767", raw("<i2", 257, 257, nodata=-32767), METRES, 7),
    ("derived-png/andes_257_g16.png", G16, grey, ANDES, 7),
    ("derived-png/andes_257_g16_gamma.png", G16, grey, ANDES, 7),
    ("derived-png/andes_257_g16_interlaced.png", G16, grey, ANDES, 7),
    ("derived-png/andes_257_g8.png", G16, grey, levels(250, 6929, 255), 7),
    ("derived-png/andes_257_ga16_holes.png", G16, grey, ANDES, 7),
    ("derived-png/andes_257_holes_g8.png", G16, grey, levels(250, 6929, 255), 7),
    ("derived-png/andes_257_rgb16_equal.png", G16, grey, ANDES, 7),
    ("derived-png/andes_257_splat_rgba_not_normalised.png", "--spacing 1 --min 0 --max 100 --channel g", channel(1), levels(0, 100, 255), 7),
    ("derived-png/andes_257_splat_rgba_sum255.png", "--spacing 1 --min 0 --max 100 --channel a", channel(3), levels(0, 100, 255), 7),
    ("derived-png/andes_700x333_g16.png", G16, grey, ANDES, 7),
    ("derived-png/deadsea_256_terrainrgb.png", "--spacing 4 --format terrain-rgb", png_rgb, codes(-10000, 10), 7),
    ("derived-png/deadsea_256_terrarium.png", "--spacing 4 --format terrarium --quantum-log2 8", png_rgb, codes(-32768, 256), 8),
    ("derived-png/deadsea_256_truth.f32", "--spacing 4 --format raw32 --byte-order little", raw("<f4", 256, 256), METRES, 7),
    ("derived-raw-game/andes_1009x1009.r16", G16, raw("<u2", 1009, 1009), ANDES, 7),
    ("derived-raw-game/andes_505x505.r16", G16, raw("<u2", 505, 505), ANDES, 7),
    ("derived-raw-game/andes_700x333_nonsquare.r16", G16 + " --size 700x333", raw("<u2", 700, 333), ANDES, 7),
    ("derived-raw-game/deadsea_257x257.r32", "--spacing 1", raw("<f4", 257, 257), METRES, 7),
    ("derived-raw-game/deadsea_257x257.r8", DEAD, raw("u1", 257, 257), levels(-500, 1500, 255), 7),
    ("derived-raw-game/deadsea_257x257_unity_le.raw", DEAD, raw("<u2", 257, 257), DEADSEA, None),
    ("derived-raw-game/deadsea_257x257_unity_le_flipped.raw", DEAD + " --south-up", raw("<u2", 257, 257, True), DEADSEA, None),
    ("derived-raw-game/deadsea_257x257_unity_mac_be.raw", DEAD, raw(">u2", 257, 257), DEADSEA, None),
    ("esri-ascii/4_x_3.asc", "", asc, METRES, 7),
    ("esri-ascii/4_x_3_no_nodata_value.asc", "", asc, METRES, 7),
    ("esri-ascii/SRTMGL3_colorado.asc", "--spacing 90", asc, METRES, 7),
    ("esri-ascii/hugo_site.asc", "", asc, METRES, 7),
    ("esri-ascii/pre_runout_DEM.asc", "", asc, METRES, 7),
    ("esri-ascii/synthetic_landscape.asc", "", asc, METRES, 7),
    ("esri-ascii/west_bijou_gully.asc", "", asc, METRES, 7),
    ("esri-ascii/zSW3.asc", "", asc, METRES, 7),
    ("gazebo-heightmaps/fortress_heightmap.png", "--spacing 1 --min 0 --max 50", grey, levels(0, 50, 255), 7),
    ("gazebo-heightmaps/heightmap_bowl.png", "--spacing 1 --min 0 --max 50 --channel r", channel(0), levels(0, 50, 255), 7),
    ("gazebo-heightmaps/moon.tif", "--spacing 2.5", gdal, METRES, 7),
    ("matplotlib-npz/jacksboro_fault_dem.npz", "--spacing 90", npz("elevation"), METRES, 7),
    ("matplotlib-npz/topobathy.npz", "--spacing 256", npz("topo", True), METRES, 7),
    ("odd-exr/AllHalfValues.exr", "--spacing 1 --channel G --nodata nan --crop 0,0,256,124", exr("G"), METRES, 7),
    ("odd-exr/brush_hill1.exr", "--spacing 1 --channel R --min 0 --max 100", exr("R"), ("float", 0, 100), 7),
    ("odd-exr/brush_mountain1.exr", "--spacing 1", exr("Y"), METRES, 7),
    ("odd-exr/brush_peak1.exr", "--spacing 1 --channel G", exr("G"), METRES, 7),
    ("odd-png-pngsuite/basi0g08.png", SUITE, grey, levels(0, 100, 255), 7),
    ("odd-png-pngsuite/basi0g16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/basi4a16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/basi6a16.png", SUITE + " --channel b", channel(2), SUITE16, None),
    ("odd-png-pngsuite/basn0g01.png", SUITE, grey, levels(0, 100, 1), 7),
    ("odd-png-pngsuite/basn0g02.png", SUITE, grey, levels(0, 100, 3), 7),
    ("odd-png-pngsuite/basn0g04.png", SUITE, grey, levels(0, 100, 15), 7),
    ("odd-png-pngsuite/basn0g16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/basn2c16.png", SUITE + " --channel r", channel(0), SUITE16, None),
    ("odd-png-pngsuite/basn4a08.png", SUITE, grey, levels(0, 100, 255), 7),
    ("odd-png-pngsuite/basn4a16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/g03n0g16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/oi9n0g16.png", SUITE, grey, SUITE16, None),
    ("odd-png-pngsuite/tbwn0g16.png", SUITE, grey, SUITE16, None),
    ("odd-tiff/float_nan.tif", "--spacing 1", gdal, METRES, 7),
    ("odd-tiff/float_raster_with_extra_nodata.tif", "--spacing 100", gdal, METRES, 7),
    ("odd-tiff/int16.tif", "--spacing 1", gdal, METRES, 7),
    ("odd-tiff/int16_zstd.tif", "--spacing 1", gdal, METRES, 7),
    ("odd-tiff/minisblack-1c-i16b.tiff", "--spacing 1", gdal, METRES, 7),
    ("odd-tiff/predictor-3-gray-f32.tif", "--spacing 1", gdal, METRES, 7),
    ("odd-tiff/random-fp16-pred3.tiff", "--spacing 1", gdal, METRES, 7),
    ("srtm-alps-voids/N46E008.tif.zip", "--spacing 90", gdal, METRES, 7),
    ("srtm-dead-sea-negative/n31_e035_3arc_v2.tif.zip", "--spacing 90", gdal, METRES, 7),
    ("srtm-hgt-pyrenees-pair/N41E001.hgt.zip", "--spacing 32", hgt, METRES, 7),
    ("srtm-hgt-pyrenees-pair/N42E001.hgt.zip", "--spacing 32", hgt, METRES, 7),
    ("srtm-hgt-riviera/N43E007.hgt", "--spacing 32", hgt, METRES, 7),
    ("terrain-rgb-pair/elev-rgb.tif", "--spacing 6 --format terrain-rgb --rgb -100,0.001 --quantum-log2 10", gdal_rgb, codes(-100, 1000), 10),
    ("terrain-rgb-pair/elev.tif", "--spacing 6", gdal, METRES, 7),
    ("terrain3d-demo/crop_height_257x257.r32", "--spacing 1", raw("<f4", 257, 257), METRES, 7),
    ("terrain3d-demo/holes_1024.png", "--spacing 1 --min 0 --max 1", grey, levels(0, 1, 255), None),
    ("terrain3d-demo/north_region_last_row_1024.f32", "--spacing 1 --format raw32 --size 512x2 --byte-order little", raw("<f4", 512, 2), METRES, 7),
    ("terrain3d-demo/region_first_row_1024.f32", "--spacing 1 --format raw32 --size 512x2 --byte-order little", raw("<f4", 512, 2), METRES, 7),
    ("terrain3d-demo/terrain3d_00_00.res", "--spacing 1", terrain3d, METRES, 7),
    ("u3d-heightmap-weights/HeightMap.png", "--spacing 1 --min 0 --max 300", grey, levels(0, 300, 255), 7),
    ("unity-raw-scrawk/Heights.raw", "--spacing 1 --min 0 --max 600", raw("<u2", 1024, 1024), levels(0, 600), None),
    ("usgs-dem-st-helens/SainteHelens.dem", "", gdal, METRES, 7),
]


def quanta(values, meaning, k):
    """Heights in quanta, rounded half up. Integers are exact; floats use one rounding of each IEEE operation."""
    half_up = lambda n, d: (2 * n + d) // (2 * d)
    kind = meaning[0]
    if kind == "levels":
        _, low, high, top = meaning
        return half_up((low * top + values.astype(np.int64) * (high - low)) << k, top)
    if kind == "codes":
        _, base, per_metre = meaning
        return half_up((base * per_metre + values.astype(np.int64)) << k, per_metre)
    if np.issubdtype(values.dtype, np.integer):
        return values.astype(np.int64) << k
    metres = values.astype(np.float64)
    if kind == "float":
        _, low, high = meaning
        metres = metres * float(high - low) + float(low)
    scaled = metres * float(1 << k)
    floor = np.floor(scaled)
    return floor.astype(np.int64) + (scaled - floor >= 0.5)


def crop_of(options):
    words = options.split()
    return tuple(map(int, words[words.index("--crop") + 1].split(","))) if "--crop" in words else None


def coarse(values, meaning, k):
    """Whether the largest rounding error is a quarter of an integer source's step or more."""
    _, low, high, top = meaning
    n = (low * top + values.astype(np.int64) * (high - low)) << k
    error = np.abs(((2 * n + top) // (2 * top)) * top - n).max()
    return 4 * int(error) >= (high - low) << k


def entry(root, name, options, read, meaning, k):
    values, voids = read(os.path.join(root, name))
    if (crop := crop_of(options)) is not None:
        x, z, w, h = crop
        values, voids = values[z : z + h, x : x + w], voids[z : z + h, x : x + w]
    known = values[~voids]
    if k is None:
        k = 7
        while k < 12 and coarse(known, meaning, k):
            k += 1
    q = np.full(values.shape, -(2**31), np.int64)
    q[~voids] = quanta(known, meaning, k)
    raw64 = values.astype("<f8").copy()
    raw64[voids] = VOID
    q_known = q[~voids]
    return {
        "file": name,
        "options": options,
        "size": [values.shape[1], values.shape[0]],
        "type": str(values.dtype.name),
        "voids": int(voids.sum()),
        "quantum_log2": k,
        "min_m": float(q_known.min()) / 2**k if q_known.size else None,
        "max_m": float(q_known.max()) / 2**k if q_known.size else None,
        "values": blake3.blake3(raw64.tobytes()).hexdigest(),
        "quanta": blake3.blake3(q.astype("<i4").tobytes()).hexdigest(),
    }


def main():
    root = os.path.abspath(sys.argv[1])
    entries = [entry(root, *f) for f in FILES]
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.json")
    with open(out, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(e) for e in entries) + "\n]\n")
    print(len(entries), "files")


if __name__ == "__main__":
    main()

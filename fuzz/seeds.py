"""Makes the seeds of the importers' corpora: tiny rasters in every variant that the readers know.

Run in this folder; needs numpy, rasterio, OpenEXR, pypng. The same run gives the same files but for what libraries
change. Names begin with seed- but for what is to be refused. The seeds of everything else are written by tests/tests/fuzz_corpus.rs.
"""

import io
import os
import struct
import zipfile
import zlib

import numpy as np
import OpenEXR
import png
import rasterio
from rasterio.transform import Affine, from_origin


def put(target, name, data, kind="seed-"):
    folder = os.path.join("corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, kind + name), "wb") as f:
        f.write(data)


def slope(w, h, kind=np.int16):
    z, x = np.mgrid[0:h, 0:w]
    return (100 + 7 * x + 3 * z + (x * z) % 5).astype(kind)


def hgt():
    tile = slope(4, 4)
    put("import_hgt", "plain", tile.astype(">i2").tobytes())
    tile[1, 2] = -32768
    put("import_hgt", "void", tile.astype(">i2").tobytes())
    put("import_hgt", "byte-swapped", slope(5, 5).astype("<i2").tobytes(), kind="")
    put("import_hgt", "high", (slope(3, 3) + 8000).astype(">i2").tobytes())


def raw():
    put("import_raw", "u8", slope(6, 6, np.uint8).tobytes())
    for order in "<>":
        put("import_raw", f"u16-{'le' if order == '<' else 'be'}", slope(6, 6, order + "u2").tobytes())
        put("import_raw", f"f32-{'le' if order == '<' else 'be'}", slope(4, 4, order + "f4").tobytes())
    put("import_raw", "told", slope(3, 2, ">i2").tobytes())
    put("import_raw", "nan", np.array([[1, 2, 3], [4, np.nan, 6], [7, 8, np.inf]], "<f4").tobytes())


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def with_chunks(data, *chunks):
    return data[:33] + b"".join(chunk(n, d) for n, d in chunks) + data[33:]


def png_of(rows, **how):
    out = io.BytesIO()
    h, w = len(rows), how.pop("width")
    png.Writer(w, h, **how).write(out, rows)
    return out.getvalue()


def pngs():
    for depth in (1, 2, 4, 8, 16):
        rows = (slope(5, 4, np.uint16) % (1 << min(depth, 10))).tolist()
        for interlace in (False, True):
            name = f"grey{depth}{'-interlaced' if interlace else ''}"
            put("import_png", name, png_of(rows, width=5, greyscale=True, bitdepth=depth, interlace=interlace))
    for depth in (8, 16):
        grey = slope(4, 3, np.uint16) % 256
        rgb = np.repeat(grey[:, :, None], 3, 2).reshape(3, -1).tolist()
        put("import_png", f"rgb{depth}", png_of(rgb, width=4, greyscale=False, bitdepth=depth))
        alpha = np.stack([grey, (grey % 3) * 9], 2).reshape(3, -1).tolist()
        put("import_png", f"alpha{depth}", png_of(alpha, width=4, greyscale=True, alpha=True, bitdepth=depth))
    # The same files as layers' images, and palettes beside them.
    colours = [(9, 8, 7), (50, 60, 70), (255, 0, 9, 128)]
    for depth in (1, 2, 8):
        rows = (slope(5, 4, np.uint16) % 2).tolist()
        put("image", f"palette{depth}", png_of(rows, width=5, palette=[c + (255,) * (4 - len(c)) for c in colours[:2 if depth == 1 else 3]],
                                               bitdepth=depth))
    for name in ("grey1", "grey4-interlaced", "grey16", "rgb8", "rgb16", "alpha8", "alpha16"):
        with open(f"corpus/import_png/seed-{name}", "rb") as f:
            put("image", name, f.read())
    # Unequal channels of which one can be named, and a transparent grey.
    odd = (np.arange(3 * 4 * 3) * 7 % 256).reshape(3, -1).tolist()
    put("import_png", "colours", png_of(odd, width=4, greyscale=False, bitdepth=8))
    plain = png_of((slope(4, 3, np.uint16) % 256).tolist(), width=4, greyscale=True, bitdepth=16)
    clear = struct.pack(">H", 107)
    put("import_png", "chunks", with_chunks(plain, (b"gAMA", struct.pack(">I", 45455)), (b"tRNS", clear)))

    coded = (np.indices((4, 4)).sum(0)[:, :, None] * np.array([1, 37, 11]) % 256).astype(np.uint8)
    put("import_rgb", "png", png_of(coded.reshape(4, -1).tolist(), width=4, greyscale=False, bitdepth=8))
    rgba = np.concatenate([coded, (coded[:, :, :1] % 2) * 255], 2)
    put("import_rgb", "png-alpha", png_of(rgba.reshape(4, -1).tolist(), width=4, greyscale=False, alpha=True,
                                          bitdepth=8))
    for name, how in [("strips", {}), ("planar", {"interleave": "band", "compress": "deflate"}),
                      ("pixel", {"interleave": "pixel", "compress": "lzw", "predictor": 2})]:
        put("import_rgb", "tiff-" + name, tiff(np.moveaxis(coded, 2, 0), photometric="RGB", **how))


def tiff(bands, transform=None, crs=None, nodata=None, tags=None, scale=None, **how):
    if bands.ndim == 2:
        bands = bands[None]
    n, h, w = bands.shape
    with rasterio.MemoryFile() as memory:
        with memory.open(driver="GTiff", width=w, height=h, count=n, dtype=bands.dtype, transform=transform,
                         crs=crs, nodata=nodata, **how) as out:
            out.write(bands)
            if scale:
                out.scales, out.offsets = (scale[0],) * n, (scale[1],) * n
            if tags:
                out.update_tags(**tags)
        return memory.read()


def tiffs():
    metres = {"transform": from_origin(500000, 4800000, 30, 30), "crs": "EPSG:32631"}
    for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64", "int64", "uint64"):
        put("import_tiff", kind, tiff(slope(5, 4, kind), **metres))
    for codec in ("deflate", "lzw", "packbits", "zstd"):
        put("import_tiff", codec, tiff(slope(20, 9), compress=codec, **metres))
        if codec != "packbits":
            put("import_tiff", codec + "-predicted", tiff(slope(20, 9), compress=codec, predictor=2))
            put("import_tiff", codec + "-float", tiff(slope(20, 9, "float32"), compress=codec, predictor=3))
    tiled = {"tiled": True, "blockxsize": 16, "blockysize": 16}
    put("import_tiff", "tiles", tiff(slope(20, 18), compress="lzw", **tiled))
    put("import_tiff", "sparse", tiff(np.zeros((18, 20), "int16"), SPARSE_OK="TRUE", compress="deflate", nodata=0,
                                      **tiled))
    put("import_tiff", "big", tiff(slope(5, 4), BIGTIFF="YES", ENDIANNESS="BIG", blockysize=2, compress="deflate"))
    put("import_tiff", "big-endian", tiff(slope(5, 4, "float32"), ENDIANNESS="BIG", compress="deflate", predictor=3))
    put("import_tiff", "half", tiff(slope(5, 4, "float32"), NBITS="16"))
    put("import_tiff", "nodata", tiff(slope(5, 4), nodata=107, scale=(0.5, -3.0)))
    nan = slope(4, 4, "float32")
    nan[1, 1] = np.nan
    put("import_tiff", "nan", tiff(nan, nodata=np.nan))
    put("import_tiff", "degrees", tiff(slope(4, 5, "float32"), transform=from_origin(7, 44, 1e-3, 1e-3),
                                       crs="EPSG:4326", tags={"AREA_OR_POINT": "Point"}))
    put("import_tiff", "south-up", tiff(slope(4, 4), transform=Affine(10, 0, 5, 0, 10, 7), crs="EPSG:32631"))
    put("import_tiff", "rotated", tiff(slope(4, 4), transform=Affine(10, 1, 5, 1, -10, 7), crs="EPSG:32631"), kind="")
    put("import_tiff", "feet", tiff(slope(4, 4), transform=from_origin(0, 0, 100, 100), crs="EPSG:2263"))
    put("import_tiff", "bands", tiff(np.stack([slope(4, 4), slope(4, 4) * 2]), interleave="pixel"))
    put("import_tiff", "planar", tiff(np.stack([slope(4, 4), slope(4, 4) * 2]), interleave="band", compress="lzw"))
    alpha = np.stack([slope(4, 4, "uint8"), np.eye(4, dtype="uint8") * 255])
    put("import_tiff", "alpha", tiff(alpha, ALPHA="YES", photometric="MINISBLACK", interleave="pixel"))
    put("import_tiff", "levels", tiff(slope(6, 6, "uint16")))


def exr(name, channels, w, h, **header):
    path = "seed.tmp.exr"
    OpenEXR.File({"type": OpenEXR.scanlineimage, **header}, channels).write(path)
    with open(path, "rb") as f:
        put("import_exr", name, f.read(), kind="" if name.startswith("b44") else "seed-")
    os.remove(path)


def exrs():
    codecs = [("none", OpenEXR.NO_COMPRESSION), ("rle", OpenEXR.RLE_COMPRESSION), ("zips", OpenEXR.ZIPS_COMPRESSION),
              ("zip", OpenEXR.ZIP_COMPRESSION), ("piz", OpenEXR.PIZ_COMPRESSION), ("pxr24", OpenEXR.PXR24_COMPRESSION),
              ("b44", OpenEXR.B44_COMPRESSION)]
    for name, codec in codecs:
        for kind in ("float16", "float32", "uint32"):
            if name in ("piz", "pxr24") or kind == "float32":
                exr(f"{name}-{kind}", {"Y": slope(19, 20, kind)}, 19, 20, compression=codec)
    exr("rgb", {c: slope(5, 4, "float32") for c in "RGB"}, 5, 4, compression=OpenEXR.ZIP_COMPRESSION)
    exr("named", {"G": slope(5, 4, "float32"), "R": slope(5, 4, "float16"), "height": slope(5, 4, "float32")}, 5, 4,
        compression=OpenEXR.ZIPS_COMPRESSION)
    exr("alpha", {"A": np.eye(4, dtype="float16"), "Y": slope(4, 4, "float16")}, 4, 4,
        compression=OpenEXR.RLE_COMPRESSION)
    exr("window", {"Z": slope(4, 4, "float32")}, 4, 4, compression=OpenEXR.NO_COMPRESSION,
        dataWindow=((-2, 3), (1, 6)), displayWindow=((0, 0), (9, 9)))
    exr("tiles", {"Y": slope(20, 18, "float32")}, 20, 18, type=OpenEXR.tiledimage, compression=OpenEXR.ZIP_COMPRESSION,
        tiles=OpenEXR.TileDescription())


def asc():
    head = "ncols 4\nnrows 3\nxllcorner 500000\nyllcorner 4800000\ncellsize 30\n"
    rows = "1 2 3 4\n5 6 7 8\n9 10 11 -9999\n"
    put("import_asc", "integers", (head + "NODATA_value -9999\n" + rows).encode())
    put("import_asc", "floats", (head.replace("corner", "center") + rows.replace("3 4", "3.25 4e1")).encode())
    put("import_asc", "oblong", (head.replace("cellsize 30", "dx 30\ndy 40") + rows).encode())
    put("import_asc", "degrees", (head.replace("500000", "7").replace("4800000", "44")
                                  .replace("cellsize 30", "cellsize 0.001") + rows).encode())
    put("import_asc", "mark-and-crlf", ("\ufeff" + (head + rows).replace("\n", "\r\n")).encode())
    put("import_asc", "decimal-comma", (head + rows.replace("2 3", "2,5 3")).encode(), kind="")
    put("import_asc", "nan", (head + "NODATA_value nan\n" + rows.replace("7", "nan").replace("8", "inf")).encode())


def dem():
    def real(v):
        return f"{v:.12e}".replace("e", "D").rjust(24)

    def make(ground, unit, z, profiles, corners=(1000.0, 1090.0), angle=0.0):
        a = bytearray(b" " * 1024)

        def at(i, text):
            a[i:i + len(text)] = text.encode()
        at(0, "A MADE HILL")
        for i, v in [(144, 1), (150, 1), (156, 1), (162, 10), (528, ground), (534, unit)]:
            at(i, f"{v:>6}")
        for i in range(4):
            at(546 + i * 48, real(500.0))
            at(570 + i * 48, real(corners[i % 2]))
        at(786, real(angle))
        for i, step in enumerate((30.0, 30.0, z)):
            at(816 + i * 12, f"{step:.4E}".rjust(12))
        at(852, f"{1:>6}{len(profiles):>6}")
        out = bytes(a)
        for i, (x, y, datum, values) in enumerate(profiles):
            b = f"{1:>6}{i + 1:>6}{len(values):>6}{1:>6}" + "".join(map(real, (x, y, datum, 0.0, 0.0)))
            b += "".join(f"{v:>6}" for v in values)
            out += b.ljust(1024).encode()
        return out
    hill = [(500.0, 1030.0, 0.0, [11, 12]), (530.0, 1000.0, 0.0, [20, -32767, 22, 23]), (560.0, 1060.0, 0.0, [32])]
    put("import_usgs_dem", "metres", make(2, 2, 1.0, hill))
    put("import_usgs_dem", "feet", make(1, 1, 0.1, hill))
    put("import_usgs_dem", "datum", make(2, 2, 1.0, [(x, y, 7.5, v) for x, y, _, v in hill]))
    put("import_usgs_dem", "seconds", make(3, 2, 1.0, hill))
    put("import_usgs_dem", "cut-into-lines", b"\n".join(make(2, 2, 1.0, hill)[i:i + 1024].rstrip()
                                               for i in range(0, 4096, 1024)) + b"\n", kind="")


def numpy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def numpys():
    for kind in ("i1", "<i2", ">i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", ">f8"):
        put("import_npy", kind.replace("<", "le-").replace(">", "be-"), numpy_bytes(slope(4, 3, kind)))
    put("import_npy", "fortran", numpy_bytes(np.asfortranarray(slope(4, 3, "<f4"))))
    put("import_npy", "axes", numpy_bytes(slope(4, 3, "<i2")[None, :, :, None]))
    v2 = numpy_bytes(slope(4, 3, "<i2"))
    put("import_npy", "version2", v2[:6] + b"\x02\x00" + v2[8:10] + b"\0\0" + v2[10:])

    def archive(method, **arrays):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as z:
            for name, array in arrays.items():
                z.writestr(zipfile.ZipInfo(name + ".npy"), numpy_bytes(array), compress_type=method)
        return out.getvalue()
    stored, packed = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
    lines = {"x": np.arange(4.0) * 30 + 500, "y": 900 - np.arange(3.0) * 30}
    put("import_npz", "stored", archive(stored, z=slope(4, 3, "<f4")))
    put("import_npz", "packed", archive(packed, z=slope(4, 3, "<f4")))
    put("import_npz", "several", archive(packed, z=slope(4, 3), other=slope(3, 3)))
    put("import_npz", "placed", archive(stored, z=slope(4, 3), **lines))
    put("import_npz", "placed-north", archive(packed, z=slope(4, 3), lon=7 + np.arange(4) * 1e-3,
                                              lat=44 + np.arange(3) * 1e-3))
    put("import_npz", "scalars", archive(stored, z=slope(4, 3), spacing=np.array(30.0), names=np.array(["a"])))


def zips():
    def archive(members, method=zipfile.ZIP_DEFLATED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for name, data in members:
                z.writestr(zipfile.ZipInfo(name), data, compress_type=method)
        return out.getvalue()
    tile = slope(4, 4).astype(">i2").tobytes()
    put("import_zip", "stored", archive([("N43E007.hgt", tile)], zipfile.ZIP_STORED))
    put("import_zip", "packed", archive([("folder/N43E007.hgt", tile), ("readme.txt", b"hello")]))
    put("import_zip", "several", archive([("a.hgt", tile), ("b.hgt", tile), ("__MACOSX/._b.hgt", b"x")]))
    put("import_zip", "tiff", archive([("a.tif", tiff(slope(4, 4, "float32"), compress="deflate"))]))
    put("import_zip", "asc", archive([("a.asc", b"ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 30\n1 2\n3 4\n")], zipfile.ZIP_STORED))
    put("import_zip", "zip-in-zip", archive([("a.zip", archive([("a.hgt", tile)]))]), kind="")
    long = archive([("a.hgt", tile)], zipfile.ZIP_STORED)
    put("import_zip", "comment", long[:-2] + b"\x05\0hello")


def terrain3d():
    """Godot's binary resources: a head with names and places, the maps as images, then the region that names them."""

    def make(control=True, big=False, flags=1, spacing=None, rsrc=True):
        order = ">" if big else "<"

        def word(*v):
            return struct.pack(f"{order}{len(v)}I", *v)

        def text(t):
            return word(len(t) + 1) + t.encode() + b"\0"

        names = ["height_map", "control_map", "data", "extra", "location", "version", "vertex_spacing"]
        words = np.arange(9, dtype="<u4") * 0x0841_4005
        maps = [slope(3, 3, "<f4").tobytes()] + ([words.tobytes()] if control else [])
        ids = [i if flags & 1 else i + 5 for i in range(3)]

        def head(places):
            out = word(int(big), 0, 4, 2, 5) + text("Terrain3DRegion") + struct.pack(order + "Q", 0) + word(flags)
            out += struct.pack(order + "Q", 7) + word(*[0] * 11) + word(len(names)) + b"".join(map(text, names))
            out += word(1) + text("Script") + text("res://a.gd") + word(len(places))
            return out + b"".join(text(f"local://{ids[i]}") + struct.pack(order + "Q", p)
                                  for i, p in enumerate(places))

        at = len(head([0] * (len(maps) + 1))) + (4 if rsrc else 0)
        body, places = b"", []
        for data in maps:
            places.append(at + len(body))
            body += text("Image") + word(1, 2, 26, 5)
            for key, value in (("width", word(3, 3)), ("height", word(3, 3)), ("format", word(5) + text("RFloat")),
                               ("mipmaps", word(2, 0)), ("data", word(31, len(data)) + data)):
                body += word(5) + text(key) + value
        places.append(at + len(body))
        body += text("Terrain3DRegion") + word(len(maps) + 3 + (spacing is not None), 3, 1, 0x8000_0008)
        body += b"version\0" + word(4) + struct.pack(order + "f", 0.93) + word(4, 45, 0xFFFF_FFFE, 3)
        body += b"".join(word(i, 24, 2, ids[i]) for i in range(len(maps)))
        if spacing is not None:
            body += word(6, 4) + struct.pack(order + "f", spacing)
        return (b"RSRC" if rsrc else b"") + head(places) + body

    def frame(data):
        """A zstd frame with one stored block."""
        size = bytes([0x20, len(data)]) if len(data) < 256 else b"\x60" + struct.pack("<H", len(data) - 256)
        return b"\x28\xb5\x2f\xfd" + size + struct.pack("<I", len(data) << 3 | 1)[:3] + data

    def packed(data, block):
        blocks = [frame(data[i * block:(i + 1) * block]) for i in range(len(data) // block + 1)]
        sizes = struct.pack(f"<{len(blocks)}I", *map(len, blocks))
        return b"RSCC" + struct.pack("<III", 2, block, len(data)) + sizes + b"".join(blocks) + b"RSCC"

    put("import_terrain3d", "plain", make())
    put("import_terrain3d", "heights", make(control=False))
    put("import_terrain3d", "big-endian", make(big=True, spacing=2.0))
    put("import_terrain3d", "by-path", make(flags=0))
    put("import_terrain3d", "packed", packed(make(rsrc=False), 512))
    put("import_terrain3d", "packed-small", packed(make(rsrc=False), 100))


def hostile_tiffs():
    """Small files that claim large rasters."""

    def make(name, width, height, tags, tail=b""):
        entries = {256: (4, [width]), 257: (4, [height]), 258: (3, [64]), 277: (3, [1]), 339: (3, [3]), **tags}
        at = 8 + 2 + 12 * len(entries) + 4
        head, data = struct.pack("<2sHIH", b"II", 42, 8, len(entries)), b""
        for tag, (kind, values) in sorted(entries.items()):
            packed = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
            if len(packed) > 4:
                head += struct.pack("<HHII", tag, kind, len(values), at + len(data))
                data += packed
            else:
                head += struct.pack("<HHI", tag, kind, len(values)) + packed.ljust(4, b"\0")
        put("import_tiff", name, head + struct.pack("<I", 0) + data + tail, kind="")

    make("huge-raster-of-one-missing-tile", 16384, 16384,
         {259: (3, [1]), 322: (4, [16384]), 323: (4, [16384]), 324: (4, [0]), 325: (4, [0])})
    row = zlib.compress(bytes(131072 * 8), 9)
    rows = 512
    # The shared row stands behind offsets and counts, which stand in this order.
    make("huge-raster-of-one-shared-strip", 131072, rows,
         {259: (3, [8]), 273: (4, [8 + 2 + 12 * 9 + 4 + 6 * rows] * rows), 278: (3, [1]), 279: (3, [len(row)] * rows)},
         row)


if __name__ == "__main__":
    hgt()
    raw()
    pngs()
    tiffs()
    exrs()
    asc()
    dem()
    numpys()
    zips()
    terrain3d()
    hostile_tiffs()

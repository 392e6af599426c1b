//! The `highground` command. Everything it does is in the library, one file per subcommand.

use std::process::ExitCode;

fn main() -> ExitCode {
    highground_tools::main()
}

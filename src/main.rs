//! Parse, dispatch, exit code.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ragscope::cli::main()
}

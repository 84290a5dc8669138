//! `ragscope completions` and `ragscope man`: what a package installs beside the binary.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{CommandLine, Failure, Outcome, output};

/// Options of `ragscope completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that completes
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub fn completions(arguments: &CompletionsArguments) -> Outcome {
    let mut bytes = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "ragscope", &mut bytes);
    output::print_bytes(&bytes)
}

/// Options of `ragscope man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// A folder for the pages of all commands; without it the page of `ragscope` itself is printed
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Prints the page, or writes all of them.
pub fn man(arguments: &ManArguments) -> Outcome {
    let command = CommandLine::command();
    match &arguments.output {
        None => {
            let mut bytes = Vec::new();
            clap_mangen::Man::new(command).render(&mut bytes).map_err(Failure::input)?;
            output::print_bytes(&bytes)
        }
        Some(folder) => {
            let failed = |error: std::io::Error| {
                Failure::input_message(format!("cannot write pages into {}: {error}", folder.display()))
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(command, folder).map_err(failed)?;
            output::tell_written(folder);
            Ok(())
        }
    }
}

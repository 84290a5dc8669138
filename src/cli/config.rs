//! `ragscope config`: what holds, and where it comes from.

mod folder;
mod layers;
mod presets;
mod settings;

use clap::Args;

use crate::inspect::HeadFiles;

use super::open::head_source;
use super::thresholds::ThresholdArguments;
use super::{Outcome, Shared, output};

pub use folder::{ConfigurationFolder, read_if_there};
pub use layers::Configuration;
pub use presets::{preset_count, preset_store};
pub use settings::{SETTINGS, Value};

/// Options of `ragscope config`.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// Say of every value where it comes from
    #[arg(long)]
    show_origin: bool,
    #[command(flatten)]
    thresholds: ThresholdArguments,
    /// Chunks retrieved per question
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    top_k: Option<u16>,
}

/// Prints the effective configuration as a file that would give the same again.
pub fn run(shared: &Shared, arguments: &ConfigArguments) -> Outcome {
    let mut configuration = shared.configuration.clone();
    let ThresholdArguments { alpha, token_threshold, rho, factuality } = &arguments.thresholds;
    for (name, value) in
        [("alpha", alpha), ("token_threshold", token_threshold), ("rho", rho), ("factuality", factuality)]
    {
        configuration.say(name, value.map(Value::Number))?;
    }
    configuration.say("top_k", arguments.top_k.map(|k| Value::Count(u64::from(k))))?;
    // What the heads say of themselves stands between what is built in and the file.
    if let Ok(thresholds) = HeadFiles::read(&head_source(shared)).and_then(|files| files.thresholds()) {
        configuration.heads_say(&thresholds);
    }
    for note in configuration.notes() {
        output::tell(&format!("note: {note}"));
    }
    output::print(&printed(&configuration, arguments.show_origin))
}

fn printed(configuration: &Configuration, show_origin: bool) -> String {
    let mut text = format!("# Configuration of ragscope {}\n", env!("CARGO_PKG_VERSION"));
    for setting in SETTINGS {
        text += &format!("\n# {}\n", setting.about);
        let (line, origin) = if let Some((value, origin)) = configuration.get(setting.name) {
            (format!("{} = {}", setting.name, value.toml()), origin.to_string())
        } else {
            let example = setting.kind.example();
            (format!("# {} = {example}", setting.name), format!("built in: {}", setting.built_in))
        };
        text += &if show_origin {
            format!("{line}  # {}\n", crate::text::visible_line(&origin))
        } else {
            line + "\n"
        };
    }
    text
}

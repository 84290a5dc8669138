//! `ragscope doctor`: what is found on this machine.

use std::io::IsTerminal;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::inspect::HeadFiles;
use crate::model::{ModelLocation, PipCommand, TextModelFacts};
use crate::tui::ColourDepth;

use super::config::{ConfigurationFolder, preset_count};
use super::keys::key_map_in;
use super::log::log;
use super::models::cache_directory;
use super::open::head_source;
use super::{Outcome, Shared, output};

/// Options of `ragscope doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    fine: bool,
    found: String,
}

/// Looks and tells; nothing is changed and nothing is fetched.
pub fn run(shared: &Shared, configured: &Outcome, arguments: &DoctorArguments) -> Outcome {
    let mut findings = configuration(shared, configured);
    findings.extend(machine(shared));
    if arguments.json {
        return output::print_json(&findings);
    }
    let mut text = format!("ragscope {}\n", env!("CARGO_PKG_VERSION"));
    for finding in &findings {
        let mark = if finding.fine { "ok  " } else { "look" };
        text += &format!("{mark}  {:<10} {}\n", finding.what, crate::text::visible_line(&finding.found));
    }
    output::print(&text)
}

/// Where the log is, and how much it tells.
fn log_found() -> Result<String, String> {
    let log = log();
    if let Some(said) = &log.misunderstood {
        return Err(format!("RAGSCOPE_LOG is {said:?}; it takes off, error, warn, info or debug"));
    }
    match &log.path {
        Some(path) => Ok(format!("{} (level {}, RAGSCOPE_LOG changes it)", path.display(), log.level.name())),
        None => Err("no home directory to keep it in; set XDG_STATE_HOME".to_owned()),
    }
}

/// Where the configuration lies, and whether it fits.
fn configuration(shared: &Shared, configured: &Outcome) -> Vec<Finding> {
    let found = |what, found: Result<String, String>| Finding {
        what,
        fine: found.is_ok(),
        found: found.unwrap_or_else(|problem| problem),
    };
    // After a failure the layers are empty, but the folder can still be told.
    let folder = ConfigurationFolder::from_environment(&|name| std::env::var_os(name));
    let Some(folder) = folder else {
        return vec![found("configured", Err("there is no home; set RAGSCOPE_CONFIG_DIR".to_owned()))];
    };
    let told = |path: &Path, otherwise: String| {
        let is_there = if path.exists() { otherwise } else { "not there".to_owned() };
        format!("{} ({is_there})", path.display())
    };
    let settings = match configured {
        Ok(()) => {
            let count = shared.configuration.count_from_file();
            Ok(told(&folder.settings(), format!("{count} settings hold")))
        }
        Err(failure) => Err(failure.message()),
    };
    let keys = match key_map_in(&folder) {
        Ok((_, warnings)) => Ok(told(&folder.keys(), format!("fits, {} warnings", warnings.len()))),
        Err(failure) => Err(failure.message()),
    };
    let presets = preset_count(&folder)
        .map(|count| told(&folder.presets(), format!("{count} preset{}", if count == 1 { "" } else { "s" })));
    vec![found("settings", settings), found("keys", keys), found("presets", presets)]
}

fn machine(shared: &Shared) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |what, found: Result<String, String>| {
        let fine = found.is_ok();
        findings.push(Finding { what, fine, found: found.unwrap_or_else(|problem| problem) });
    };
    let cache = match cache_directory() {
        Ok(cache) => cache,
        Err(failure) => {
            add("cache", Err(failure.message()));
            return findings;
        }
    };
    add("cache", Ok(cache.path().display().to_string()));
    let location = ModelLocation::parse(shared.model.as_deref(), &cache);
    add(
        "model",
        location.as_ref().map_err(ToString::to_string).and_then(|location| {
            let facts = TextModelFacts::of(location, &cache).map_err(|error| error.to_string())?;
            Ok(format!("{} ({}) at {}", facts.name, facts.short_hash(), location.path().display()))
        }),
    );
    add(
        "heads",
        HeadFiles::read(&head_source(shared)).map_err(|error| error.to_string()).and_then(|files| {
            let card = files.card().map_err(|error| error.to_string())?;
            Ok(format!("{} for {} ({}), hash {}", card.name, card.model.name, card.model.hash, files.hash()))
        }),
    );
    add(
        "python",
        PipCommand::usual()
            .iter()
            .find_map(|pip| pip.found_in(&std::env::var_os("PATH").unwrap_or_default()))
            .map(|python| format!("{} (its pip is needed by `ragscope models fetch` only)", python.display()))
            .ok_or_else(|| {
                "no python3 on the PATH; `ragscope models fetch --from FILE` takes a file".to_owned()
            }),
    );
    let depth = ColourDepth::detect(&|name| std::env::var(name).ok());
    add(
        "terminal",
        if std::io::stdout().is_terminal() {
            Ok(format!("{} colours: {depth:?}", std::env::var("TERM").unwrap_or_default()))
        } else {
            Err("standard output is no terminal: the inspector prints text instead".to_owned())
        },
    );
    add("device", Ok(crate::model::found_devices()));
    add("log", log_found());
    add("threads", Ok(rayon::current_num_threads().to_string()));
    findings
}

//! No command: the sample data in the inspector.

use std::path::PathBuf;

use crate::data::{Dataset, OpenOptions};
use crate::evidence::beside;
use crate::inspect::{HeadFiles, Plan};
use crate::model::CacheDirectory;

use super::models::cache_directory;
use super::open::head_source;
use super::session::{Showing, failure_of, show_plan};
use super::{Failure, Outcome, Shared, output};

const DOCUMENTS: &[u8] = include_bytes!("../../sample_data/documents.jsonl");
const EXAMPLES: &[u8] = include_bytes!("../../sample_data/examples.jsonl");

/// Opens the sample data; fetches the default model the first time.
pub fn run(shared: &Shared) -> Outcome {
    let cache = cache_directory()?;
    let folder = sample_data(&cache)?;
    let dataset = Dataset::open(&folder, &OpenOptions::default()).map_err(Failure::input)?;
    let heads = head_source(shared);
    let own = HeadFiles::read(&heads).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let thresholds = shared.thresholds(&own);
    let plan = Plan {
        model: shared.model.clone(),
        placement: shared.placement()?,
        may_fetch: true,
        heads,
        ..Plan::new(dataset, cache)
    };
    let plan = Plan { top_k: shared.configuration.count("top_k").unwrap_or(plan.top_k), ..plan };
    let showing = Showing {
        title: "ragscope on its sample data".to_owned(),
        command: "ragscope open sample_data".to_owned(),
        run: std::sync::Arc::default(),
        defaults: thresholds.clone(),
        thresholds,
        plain: false,
        highlighting: None,
        annotations: beside(&folder),
        write_html: true,
    };
    show_plan(shared, plan, &showing)
}

/// The folder in the working directory, else a copy of what was built in.
fn sample_data(cache: &CacheDirectory) -> Outcome<PathBuf> {
    let here = PathBuf::from("sample_data");
    if here.join("examples.jsonl").exists() {
        return Ok(here);
    }
    let folder = cache.path().join("sample_data");
    output::make_folder(&folder)?;
    output::write_new(&folder.join("documents.jsonl"), DOCUMENTS, true)?;
    output::write_new(&folder.join("examples.jsonl"), EXAMPLES, true)?;
    Ok(folder)
}

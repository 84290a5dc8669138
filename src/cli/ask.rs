//! `ragscope ask`: a question of one's own, answered from the documents of a data set and scored.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::evidence::{Evidence, write_line};
use crate::inspect::{AnswerNews, ChunkFilter, HeadFiles, Request, RequestSubject};
use crate::model::{GenerationSettings, LanguageModel, ModelLocation};
use crate::report::plain;

use super::data_set::{DataArguments, LayoutArguments};
use super::open::{InspectionArguments, head_source};
use super::report_context::{certificate_in, context};
use super::score::inspector;
use super::session::failure_of;
use super::signals::{cancel_on_interrupt, cancelled};
use super::thresholds::ThresholdArguments;
use super::{Failure, Outcome, Shared, output};

/// Options of `ragscope ask`.
#[derive(Debug, Args)]
pub struct AskArguments {
    /// A data set with documents
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// The question
    #[arg(value_name = "QUESTION")]
    question: String,
    #[command(flatten)]
    layout: LayoutArguments,
    #[command(flatten)]
    inspection: InspectionArguments,
    /// Write the answer from the passages that are trusted at --alpha; it is read with all of them
    #[arg(long)]
    trusted_only: bool,
    /// The evidence as one JSON line instead of text
    #[arg(long)]
    json: bool,
    /// Tokens of the answer at most
    #[arg(long, default_value_t = 128, value_name = "TOKENS")]
    max_new_tokens: usize,
    /// 0 takes the most likely token every time; more draws from the others as well
    #[arg(long, default_value_t = 0.0)]
    temperature: f64,
    /// Seed of the draws
    #[arg(long, default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    thresholds: ThresholdArguments,
}

/// Retrieves, certifies, answers, reads, prints.
pub fn run(shared: &Shared, arguments: &AskArguments) -> Outcome {
    let question = arguments.question.trim();
    if question.is_empty() {
        return Err(Failure::Usage("QUESTION is blank: there is nothing to ask".to_owned()));
    }
    let settings = GenerationSettings {
        max_new_tokens: arguments.max_new_tokens,
        temperature: arguments.temperature,
        seed: arguments.seed,
        ..GenerationSettings::default()
    };
    settings.validated().map_err(|error| Failure::Usage(error.to_string()))?;
    let defaults =
        HeadFiles::read(&head_source(shared)).and_then(|files| files.thresholds()).map_err(failure_of)?;
    let thresholds = arguments.thresholds.over(&defaults)?;
    let dataset = DataArguments { data: arguments.data.clone(), layout: arguments.layout.clone() }.open()?;
    let shown = crate::text::visible_path(&arguments.data);
    if dataset.documents.is_empty() {
        return Err(Failure::input_message(format!(
            "{shown} has no documents, so nothing can be retrieved for a question; name a data set with a \
             corpus, for example a folder with documents.jsonl and examples.jsonl"
        )));
    }
    let row = dataset.rows.len();
    let plan = arguments.inspection.plan(shared, dataset)?;
    let location = ModelLocation::parse(plan.model.as_deref(), &plan.cache).map_err(Failure::model)?;
    let model = LanguageModel::open_on(&location, &plan.cache, plan.placement)
        .map_err(Failure::model)?
        .reading_at_most(plan.context);
    let mut inspector = inspector(&plan, &model, false)?;
    let cancel = cancel_on_interrupt();
    let filter =
        if arguments.trusted_only { ChunkFilter::Trusted(thresholds.alpha) } else { ChunkFilter::All };
    let request = Request {
        row,
        id: "asked-1".to_owned(),
        subject: RequestSubject::Question(question.to_owned()),
        filter,
        cancel: Arc::clone(&cancel).into(),
    };
    let mut evidence = inspector.asked(&request);
    inspector.answer(&mut evidence, &request, &settings, &mut |news| {
        if let AnswerNews::Stage(stage) = news {
            output::tell(&stage);
        }
    });
    if cancelled(&cancel) {
        return Err(Failure::Interrupted);
    }
    if arguments.json {
        let mut line = Vec::new();
        write_line(&evidence, &mut line).map_err(Failure::input)?;
        output::print_bytes(&line)?;
    } else {
        let run = std::slice::from_ref(&evidence);
        let filter = if arguments.trusted_only { " --trusted-only" } else { "" };
        let context = context(
            &format!("ragscope ask on {shown}"),
            &format!("ragscope ask {shown} QUESTION{filter}"),
            certificate_in(run).as_ref(),
            &thresholds,
        );
        output::print(&plain(run, &thresholds, &context))?;
    }
    answered(&evidence)
}

/// Whoever asked in a script wants to know that there is no answer.
fn answered(evidence: &Evidence) -> Outcome {
    match (&evidence.reading, &evidence.reason) {
        (Some(_), _) => Ok(()),
        (None, reason) => {
            Err(Failure::model_message(reason.as_deref().unwrap_or("the answer was not read").to_owned()))
        }
    }
}

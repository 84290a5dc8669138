//! Files written from the screen.

use std::path::{Path, PathBuf};

use crate::report::{Context, Report, exports, html, json, markdown};
use crate::tui::{Existing, ExportFailure, ExportKind, ExportRequest};

use super::output;

/// Writes an export under the name that was asked for. Nothing is replaced unless that was said, and a failure
/// names the next step.
pub fn write(request: &ExportRequest<'_>, context: &Context) -> Result<PathBuf, ExportFailure> {
    let bytes = content(request, context)?;
    let ending = request.kind.ending();
    let Some(name) = request.name else {
        let path = output::free_name(Path::new("."), "ragscope-report", ending);
        return put(path, &bytes, false);
    };
    let path = resolved(name, std::env::var_os("HOME").map(PathBuf::from));
    if path.is_dir() {
        return Err(ExportFailure::Failed(format!(
            "{} is a folder: add a file name, for example {}",
            path.display(),
            path.join(format!("ragscope-report.{ending}")).display()
        )));
    }
    match request.existing {
        Existing::Ask if path.exists() => Err(ExportFailure::Exists(path)),
        Existing::Ask => put(path, &bytes, false),
        Existing::Replace => put(path, &bytes, true),
        Existing::Beside => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            let ending = path.extension().map_or(ending.into(), |ending| ending.to_string_lossy());
            put(output::free_name(folder.unwrap_or(Path::new(".")), &stem, &ending), &bytes, false)
        }
    }
}

fn content(request: &ExportRequest<'_>, context: &Context) -> Result<Vec<u8>, ExportFailure> {
    let (evidence, thresholds) = (request.evidence, request.thresholds);
    Ok(match request.kind {
        ExportKind::Html => html(evidence, thresholds, context).into_bytes(),
        ExportKind::Markdown => markdown(evidence, thresholds, context).into_bytes(),
        ExportKind::Json => json(evidence, thresholds, context).into_bytes(),
        ExportKind::Csv => exports::csv(&Report::new(evidence, thresholds, context)).into_bytes(),
        ExportKind::Svg => match request.picture {
            Some(picture) => picture.as_bytes().to_vec(),
            None => return Err(ExportFailure::Failed("there is no screen to draw".to_owned())),
        },
    })
}

/// `~/` is the home folder, as in a shell.
fn resolved(name: &str, home: Option<PathBuf>) -> PathBuf {
    match (name.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(name),
    }
}

fn put(path: PathBuf, bytes: &[u8], force: bool) -> Result<PathBuf, ExportFailure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(ExportFailure::Failed(format!(
            "the folder {} is not there: make it, or type another name",
            folder.display()
        )));
    }
    match output::write_new(&path, bytes, force) {
        Ok(()) => Ok(path),
        // Somebody else made it between the look and the writing.
        Err(_) if !force && path.exists() => Err(ExportFailure::Exists(path)),
        Err(failure) => {
            // The temporary file that was tried first means nothing to anyone.
            let message = failure.message();
            let reason = message.split(" at path ").next().unwrap_or_default();
            let elsewhere = std::env::temp_dir().join(path.file_name().unwrap_or_default());
            Err(ExportFailure::Failed(format!(
                "{reason}; type a name in a folder that you may write to, for example {}",
                elsewhere.display()
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Thresholds;

    fn request<'a>(name: &'a str, existing: Existing, thresholds: &'a Thresholds) -> ExportRequest<'a> {
        ExportRequest {
            kind: ExportKind::Svg,
            evidence: &[],
            thresholds,
            name: Some(name),
            existing,
            picture: Some("<svg/>"),
        }
    }

    #[test]
    fn an_existing_file_is_asked_about_replaced_or_kept_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("view.svg");
        std::fs::write(&path, "old").unwrap();
        let (name, thresholds) = (path.display().to_string(), Thresholds::default());
        let write = |existing| write(&request(&name, existing, &thresholds), &Context::default());
        assert_eq!(write(Existing::Ask), Err(ExportFailure::Exists(path.clone())));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(write(Existing::Beside), Ok(folder.path().join("view-2.svg")));
        assert_eq!(write(Existing::Replace), Ok(path.clone()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "<svg/>");
    }

    #[test]
    fn a_place_that_takes_no_file_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let thresholds = Thresholds::default();
        let failed = |name: &str| match write(&request(name, Existing::Ask, &thresholds), &Context::default())
        {
            Err(ExportFailure::Failed(reason)) => reason,
            other => panic!("{other:?}"),
        };
        let folder_name = folder.path().display().to_string();
        assert!(failed(&folder_name).contains("is a folder: add a file name"));
        assert!(failed(&format!("{folder_name}/nowhere/a.svg")).contains("is not there: make it"));
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        assert_eq!(resolved("~/a.svg", Some(PathBuf::from("/own"))), Path::new("/own/a.svg"));
        assert_eq!(resolved("~a.svg", None), Path::new("~a.svg"));
    }
}

//! Dialogs: what they look like, and that no size breaks them.

use ragscope::tui::{Action, Command, DialogKey, ExportFailure, Model, Theme, update};

use super::{THEMES, act, complete, dump, screen};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

pub fn keys(model: &mut Model, keys: &[DialogKey]) {
    for key in keys {
        update(model, Action::Dialog(key.clone()));
    }
}

pub fn snapshots(state: &str, model: &mut Model) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("../snapshots");
    settings.bind(|| {
        for (width, height) in SIZES {
            for (name, theme) in THEMES {
                let (buffer, _) = screen(model, &theme, width, height);
                insta::assert_snapshot!(format!("{state}_{width}x{height}_{name}"), dump::dump(&buffer));
            }
        }
    });
    for width in [0, 1, 39, 40, 41, 60, 79, 120, 250] {
        for height in [0, 1, 7, 8, 9, 16, 24, 80] {
            screen(model, &Theme::DARK, width, height);
        }
    }
}

#[test]
fn the_export_dialog_offers_scope_form_and_name() {
    let mut model = complete();
    act(&mut model, Command::ExportDialog);
    snapshots("export", &mut model);
}

#[test]
fn the_export_dialog_asks_before_it_replaces() {
    let mut model = complete();
    act(&mut model, Command::ExportDialog);
    keys(&mut model, &[DialogKey::Accept]);
    update(&mut model, Action::Exported(Err(ExportFailure::Exists("ragscope-report.html".into()))));
    snapshots("export_exists", &mut model);
}

//! Ctrl-c during long work without a screen: finish the record, then stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// A flag that SIGINT and SIGTERM raise. A second one ends the process at once.
pub fn cancel_on_interrupt() -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the shutdown is armed by the flag that the first signal sets.
        let armed = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&cancel));
        let raised = signal_hook::flag::register(signal, Arc::clone(&cancel));
        if armed.is_err() || raised.is_err() {
            // Without handlers the default applies: the process ends, and finished lines are kept.
            break;
        }
    }
    cancel
}

/// Whether the user asked to stop.
#[must_use]
pub fn cancelled(cancel: &AtomicBool) -> bool {
    cancel.load(Ordering::Relaxed)
}

//! What happens when the library is loaded, before the program's `main`.

use crate::{calls, clock, notes, settings, sys};

extern "C" fn initialise() {
    if let Some(path) = settings::clock() {
        calls::clocks::find_the_clock();
        clock::follow(&path);
    }
    if settings::read() && settings::journal().is_some() {
        notes::show_life();
        notes::write(
            b"attached",
            sys::path_of_program().as_ref().map_or(b"?", sys::Text::bytes),
        );
    }
}

/// The loader calls what is in this section.
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = initialise;

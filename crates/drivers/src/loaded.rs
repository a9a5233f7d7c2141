//! C APIs of shared libraries that are loaded at run time.
use bakeoff_model::outcome::{Trouble, TroubleKind};
use std::error::Error;

/// kind: the product as a plan names it.
pub fn not_loaded(product: &str, kind: &str, library: &str, why: &libloading::Error) -> Trouble {
    // What the system says of it is the error's source.
    let said = why.source().map_or_else(|| why.to_string(), ToString::to_string);
    Trouble::new(
        TroubleKind::Environment,
        format!("could not load {product}: {said}"),
        library,
        format!(
            "name {product}'s shared library with `library`, or install one: bakeoff systems install {kind}"
        ),
    )
}

/// A table of functions, named without the prefix that all have in the library.
macro_rules! functions {
    ($prefix:literal $(fn $name:ident($($type:ty),*) $(-> $out:ty)?;)*) => {
        #[allow(non_snake_case)] // the library's own names
        #[derive(Clone, Copy)]
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($type),*) $(-> $out)?,)*
        }

        impl Api {
            /// It stays loaded until the process ends: such libraries have threads of their own.
            pub fn load(path: &str) -> Result<Self, libloading::Error> {
                // SAFETY: their initialisation has no conditions; the path is the user's own choice of a program.
                let library = unsafe { libloading::Library::new(path)? };
                let api = Self {
                    // SAFETY: these are the functions' types in the library's header.
                    $($name: *unsafe { library.get(concat!($prefix, stringify!($name), "\0").as_bytes())? },)*
                };
                std::mem::forget(library);
                Ok(api)
            }
        }
    };
}

pub(crate) use functions;

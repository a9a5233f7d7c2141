//! A way to a kind of system: a client library, on the runners that suit it.
use bakeoff_model::needs::Capabilities;
use bakeoff_model::run::RunnerKind;

/// One client library of a kind.
#[derive(Clone, Debug)]
pub struct Way {
    /// Its name in a plan, where there are several.
    pub client: &'static str,
    /// Of the driver that uses it.
    pub driver: &'static str,
    pub runners: &'static [RunnerKind],
    pub offers: Capabilities,
}

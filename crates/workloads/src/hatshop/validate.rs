//! What cannot be run, refused before anything starts.
use super::event::Kind;
use crate::prelude::*;
use crate::trouble::{no_such_client, refuse};
use bakeoff_model::run::hatshop::HatshopSpec;

pub fn validate(spec: &HatshopSpec, client: ClientSpec) -> Result<(), Trouble> {
    check_bounds(spec, "workload")?;
    if client.index >= client.count {
        return Err(no_such_client(client.index, client.count));
    }
    if spec.events_sha256.is_some() && spec.events_file.is_none() {
        let hint = "name the file with `events_file`, or leave `events_sha256` out";
        let what = "it is the SHA-256 of a file of events, and no file is named";
        return Err(refuse("events_sha256", what, hint));
    }
    if Kind::ALL.iter().all(|kind| kind.share(spec) == 0.0) {
        let hint = "give one of them a share, read = 1 for instance";
        return Err(refuse("read", "no event has a share", hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(option: &str, change: impl FnOnce(&mut HatshopSpec)) {
        let mut spec = HatshopSpec::default();
        change(&mut spec);
        let trouble = validate(&spec, ClientSpec::default()).unwrap_err();
        assert_eq!(trouble.place, format!("workload.{option}"));
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_its_option() {
        validate(&HatshopSpec::default(), ClientSpec::default()).unwrap();
        refused("orders", |s| s.orders = 0);
        refused("lines_max", |s| s.lines_max = 51);
        refused("delete", |s| s.delete = -1.0);
        refused("events_sha256", |s| s.events_sha256 = Some("0f".into()));
        refused("read", |s| {
            (s.create, s.read, s.update, s.update_attribute, s.delete) = (0.0, 0.0, 0.0, 0.0, 0.0);
        });
    }

    #[test]
    fn a_client_that_does_not_exist_is_refused() {
        let client = ClientSpec { index: 2, count: 2 };
        assert_eq!(
            validate(&HatshopSpec::default(), client).unwrap_err().place,
            "client"
        );
    }
}

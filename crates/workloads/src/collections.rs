//! What every workload of documents does with its collection before and after a run.
use crate::prelude::*;
use crate::trouble;
use bakeoff_model::any::AnyDocuments;
use bakeoff_model::document::{CollectionSpec, DocumentSession};

pub async fn create(
    session: &mut AnyDocuments,
    collection: &CollectionSpec,
    drop_existing: bool,
) -> Result<(), Trouble> {
    let name = &collection.name;
    if drop_existing {
        drop(session, collection).await?;
    } else if session
        .collection_exists(collection)
        .await
        .map_err(|error| trouble::setup("look for the collection", name, &error))?
    {
        let hint = "allow dropping it, or name another collection or schema in the plan";
        return Err(trouble::table_exists(name, hint));
    }
    session
        .create_collection(collection)
        .await
        .map_err(|error| trouble::setup("create the collection", name, &error))
}

pub async fn drop(session: &mut AnyDocuments, collection: &CollectionSpec) -> Result<(), Trouble> {
    session
        .drop_collection(collection)
        .await
        .map_err(|error| trouble::setup("drop the collection", &collection.name, &error))
}

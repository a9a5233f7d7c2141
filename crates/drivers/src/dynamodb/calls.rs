//! Requests of DynamoDB's low-level API: a signed POST each, whose body and answer are JSON.
//!
//! Source: Amazon DynamoDB Developer Guide, "DynamoDB low-level API".
use super::errors;
use super::signature::{ALGORITHM, SIGNATURE_BYTES, Scope, Signer, digest, hex};
use crate::server::aws::second;
use crate::server::http::{Http, Route, Template};
use bakeoff_model::capacity::{CapacityMeter, CapacityTally, CapacityUnits};
use bakeoff_model::json;
use bakeoff_model::outcome::OpError;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    BatchGetItem,
    BatchWriteItem,
    CreateTable,
    DeleteItem,
    DeleteTable,
    DescribeTable,
    GetItem,
    PutItem,
    Query,
    Scan,
    TransactGetItems,
    TransactWriteItems,
    UpdateItem,
}

impl Action {
    const ALL: [Self; 13] = [
        Self::BatchGetItem,
        Self::BatchWriteItem,
        Self::CreateTable,
        Self::DeleteItem,
        Self::DeleteTable,
        Self::DescribeTable,
        Self::GetItem,
        Self::PutItem,
        Self::Query,
        Self::Scan,
        Self::TransactGetItems,
        Self::TransactWriteItems,
        Self::UpdateItem,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::BatchGetItem => "BatchGetItem",
            Self::BatchWriteItem => "BatchWriteItem",
            Self::CreateTable => "CreateTable",
            Self::DeleteItem => "DeleteItem",
            Self::DeleteTable => "DeleteTable",
            Self::DescribeTable => "DescribeTable",
            Self::GetItem => "GetItem",
            Self::PutItem => "PutItem",
            Self::Query => "Query",
            Self::Scan => "Scan",
            Self::TransactGetItems => "TransactGetItems",
            Self::TransactWriteItems => "TransactWriteItems",
            Self::UpdateItem => "UpdateItem",
        }
    }

    /// How units count that it has consumed. Of tables themselves nothing is consumed.
    fn consumes(self, units: f64) -> Option<CapacityUnits> {
        let (read, write) = match self {
            Self::BatchGetItem | Self::GetItem | Self::Query | Self::Scan | Self::TransactGetItems => {
                (units, 0.0)
            }
            Self::BatchWriteItem
            | Self::DeleteItem
            | Self::PutItem
            | Self::TransactWriteItems
            | Self::UpdateItem => (0.0, units),
            Self::CreateTable | Self::DeleteTable | Self::DescribeTable => return None,
        };
        Some(CapacityUnits { read, write })
    }
}

const CONTENT_TYPE: &str = "application/x-amz-json-1.0";
const SAY_CONSUMED: &[u8] = b",\"ReturnConsumedCapacity\":\"TOTAL\"}";

/// Requests of one action, but for what changes.
struct Prepared {
    template: Template,
    /// The canonical request around its moment.
    before: Vec<u8>,
    after: Vec<u8>,
}

/// One endpoint, and who asks there.
pub struct Endpoint {
    pub route: Arc<Route>,
    scope: Arc<Scope>,
    meter: Arc<CapacityMeter>,
    /// By `Action`.
    prepared: Vec<Prepared>,
    /// The field `Authorization` around the day of the signature.
    authorization: Vec<u8>,
    signed: Vec<u8>,
}

impl Endpoint {
    pub fn new(route: Arc<Route>, scope: Arc<Scope>, meter: Arc<CapacityMeter>) -> Self {
        let credentials = scope.credentials();
        let token = credentials.token.as_deref();
        let names = match token {
            Some(_) => "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            None => "content-type;host;x-amz-date;x-amz-target",
        };
        let prepare = |action: Action| {
            let target = format!("DynamoDB_20120810.{}", action.name());
            let mut fields = vec![("Content-Type", CONTENT_TYPE), ("X-Amz-Target", &target)];
            fields.extend(token.map(|token| ("X-Amz-Security-Token", token)));
            let token = token.map(|token| format!("x-amz-security-token:{token}\n"));
            let host = route.host();
            Prepared {
                template: Template::new("POST", "/", &route, &fields),
                before: format!("POST\n/\n\ncontent-type:{CONTENT_TYPE}\nhost:{host}\nx-amz-date:")
                    .into_bytes(),
                after: format!(
                    "\n{}x-amz-target:{target}\n\n{names}\n",
                    token.unwrap_or_default()
                )
                .into_bytes(),
            }
        };
        let authorization = format!("Authorization: {ALGORITHM} Credential={}/", credentials.key_id);
        let signed = format!("{}, SignedHeaders={names}, Signature=", scope.words());
        Self {
            prepared: Action::ALL.map(prepare).into(),
            authorization: authorization.into_bytes(),
            signed: signed.into_bytes(),
            route: route.clone(),
            scope,
            meter,
        }
    }
}

/// A session's connection.
pub struct Calls {
    endpoint: Arc<Endpoint>,
    consumed: Arc<CapacityTally>,
    http: Http,
    signer: Signer,
    action: Action,
    signature_at: usize,
}

impl Calls {
    pub async fn connect(endpoint: &Arc<Endpoint>, limit: Duration) -> Result<Self, OpError> {
        Ok(Self {
            http: Http::connect(&endpoint.route, limit).await?,
            signer: Signer::new(endpoint.scope.clone(), second()),
            endpoint: endpoint.clone(),
            consumed: endpoint.meter.open(),
            action: Action::GetItem,
            signature_at: 0,
        })
    }

    /// Begins a request, after which the answer before is gone. Its body is to be appended.
    #[inline]
    pub async fn begin(&mut self, action: Action) -> Result<&mut Vec<u8>, OpError> {
        let template = &self.endpoint.prepared[action as usize].template;
        self.action = action;
        self.signer.set_time(second());
        self.http.begin(template).await?;
        let head = self.http.fields(template)?;
        head.extend_from_slice(b"X-Amz-Date: ");
        head.extend_from_slice(self.signer.moment());
        head.extend_from_slice(b"\r\n");
        head.extend_from_slice(&self.endpoint.authorization);
        head.extend_from_slice(self.signer.day());
        head.extend_from_slice(&self.endpoint.signed);
        self.signature_at = head.len();
        head.extend_from_slice(&[b'0'; SIGNATURE_BYTES]);
        head.extend_from_slice(b"\r\n");
        self.http.body()
    }

    /// What is written of it so far.
    pub fn request(&mut self) -> Result<&mut Vec<u8>, OpError> {
        self.http.request()
    }

    /// Signs and sends what was begun. Errors: the service's own, too.
    #[inline]
    pub async fn send(&mut self) -> Result<&[u8], OpError> {
        let action = self.action;
        let prepared = &self.endpoint.prepared[action as usize];
        let charged = action.consumes(0.0).is_some();
        if charged {
            let request = self.http.request()?;
            request.pop();
            request.extend_from_slice(SAY_CONSUMED);
        }
        let (head, body) = self.http.written()?;
        let request = digest(&[
            &prepared.before,
            self.signer.moment(),
            &prepared.after,
            &hex(digest(&[body]).as_ref()),
        ]);
        let place = self.signature_at..self.signature_at + SIGNATURE_BYTES;
        head[place].copy_from_slice(&self.signer.sign(&request));
        let sent = self.http.exchange().await;
        match sent.map_err(|error| error.with_statement(action.name()))? {
            200 => {
                if let Some(units) = action.consumes(consumed(self.http.answer())) {
                    self.consumed.add(units);
                }
                Ok(self.http.answer())
            }
            status => Err(errors::refused(status, self.http.answer(), action.name())),
        }
    }

    /// Of the last request.
    #[inline]
    pub fn answer(&self) -> &[u8] {
        self.http.answer()
    }
}

/// Units that an answer says its request consumed, of all tables.
fn consumed(answer: &[u8]) -> f64 {
    let said = json::at(answer, ["ConsumedCapacity"]).unwrap_or_default();
    let units = |table: &[u8]| {
        let digits = json::at(table, ["CapacityUnits"]).and_then(|digits| std::str::from_utf8(digits).ok());
        digits
            .and_then(|digits| digits.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    match said.first() {
        Some(b'[') => json::Elements::of(said).map(units).sum(),
        _ => units(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_all_tables() {
        assert_eq!(
            consumed(br#"{"Item":{},"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}"#),
            0.5
        );
        let two = br#"{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":2.0},{"CapacityUnits":1.0}]}"#;
        assert_eq!(consumed(two), 3.0);
        assert_eq!(consumed(b"{}"), 0.0);
    }

    #[test]
    fn actions_are_in_the_order_of_their_numbers() {
        for (number, action) in Action::ALL.into_iter().enumerate() {
            assert_eq!(
                (action as usize, action.name()),
                (number, &*format!("{action:?}"))
            );
        }
    }
}

//! What the sessions of a worker share: the library's session, and the statements prepared on it.
use super::choice::Choice;
use super::errors::{execution, not_opened, prepare};
use super::options::{CassandraBatch, CassandraLayout, Consistency, SerialConsistency};
use super::{CassandraDriver, PLACE};
use crate::server::address::Address;
use crate::server::statement::start;
use crate::server::target::Target;
use bakeoff_model::outcome::{OpError, Trouble, TroubleKind};
use bakeoff_model::sql::{Ask, Dialect};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::host_filter::AllowListHostFilter;
use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::Statement;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency as Level, SerialConsistency as SerialLevel};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// How often a connection that nothing came over is asked whether anybody is there.
const KEEPALIVE: Duration = Duration::from_secs(1);

pub struct Cluster {
    pub library: Session,
    pub keyspace: String,
    pub dialect: &'static Dialect,
    policy: Arc<dyn LoadBalancingPolicy>,
    endpoints: Arc<[SocketAddr]>,
    reads: Level,
    writes: Level,
    page_rows: i32,
    batch: BatchType,
    /// By text: every session prepares the same ones, and a node keeps them for all who ask.
    statements: RefCell<HashMap<String, PreparedStatement>>,
}

impl Cluster {
    /// Errors: nobody answers, or not to this account; the keyspace is not there and not to be made.
    pub async fn open(driver: &CassandraDriver) -> Result<Self, Trouble> {
        let CassandraDriver {
            spec,
            targets,
            certificates,
            route,
            timeout,
        } = driver;
        let timeout = *timeout;
        let endpoints = targets.iter().map(located).collect::<Result<Arc<[_]>, _>>()?;
        let spoken_to: Vec<SocketAddr> = route.iter().map(|place| endpoints[*place as usize]).collect();
        let first = &targets[route[0] as usize];
        let profile = ExecutionProfile::builder()
            .consistency(level(spec.consistency))
            .serial_consistency(Some(serial_level(spec.serial_consistency)))
            // One request is one request: what fails is counted, and whoever waits too long is the engine's to judge.
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .speculative_execution_policy(None)
            .request_timeout(None)
            .build();
        let encryption = certificates.as_ref().map(|them| them.config(&endpoints, PLACE));
        let mut builder = SessionBuilder::new()
            .known_nodes_addr(&spoken_to)
            .tls_context(encryption.transpose()?)
            .host_filter(Arc::new(AllowListHostFilter::new(&spoken_to).map_err(unknown)?))
            .default_execution_profile_handle(profile.into_handle())
            .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
            .connection_timeout(timeout)
            .keepalive_interval(KEEPALIVE)
            .keepalive_timeout(timeout)
            .keyspaces_to_fetch([&spec.keyspace])
            .fetch_full_schema_metadata(false);
        if spec.user.is_some() {
            builder = builder.user(&first.user, first.password.as_deref().unwrap_or_default());
        }
        let library = tokio::time::timeout(timeout, builder.build())
            .await
            .map_err(|_| trouble(&first.timed_out(timeout)))?
            .map_err(|error| trouble(&first.connect_failed(not_opened(&error))))?;
        let cluster = Self {
            library,
            keyspace: spec.keyspace.clone(),
            dialect: match spec.layout {
                CassandraLayout::Hashed => &super::DIALECT,
                CassandraLayout::Clustered => &super::CLUSTERED,
            },
            policy: DefaultPolicy::builder().build(),
            endpoints,
            reads: level(spec.read_consistency.unwrap_or(spec.consistency)),
            writes: level(spec.consistency),
            page_rows: spec.page_size as i32,
            batch: match spec.batch {
                CassandraBatch::Logged => BatchType::Logged,
                CassandraBatch::Unlogged => BatchType::Unlogged,
            },
            statements: RefCell::default(),
        };
        cluster.enter_keyspace(spec.replication_factor).await?;
        Ok(cluster)
    }

    async fn enter_keyspace(&self, replication_factor: Option<u32>) -> Result<(), Trouble> {
        let name = &self.keyspace;
        if self.library.get_cluster_state().get_keyspace(name).is_none() {
            let Some(copies) = replication_factor else {
                let what = format!("the keyspace `{name}` is not there");
                let hint = "make it, with the replication that is to be measured";
                return Err(Trouble::new(TroubleKind::Server, what, PLACE, hint));
            };
            let cql = format!(
                "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = \
                 {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}",
                super::DIALECT.quoted(name)
            );
            let made = self.library.query_unpaged(cql, ()).await;
            made.map_err(|error| trouble(&execution(&error, false)))?;
        }
        let entered = self.library.use_keyspace(name, true).await;
        entered.map_err(|error| {
            let what = format!("the keyspace `{name}` cannot be used: {error}");
            Trouble::new(TroubleKind::Server, what, PLACE, "is the name right?")
        })
    }

    pub fn choice(&self, endpoint: usize) -> Arc<Choice> {
        let (policy, endpoints) = (self.policy.clone(), self.endpoints.clone());
        Arc::new(Choice::new(policy, endpoints, endpoint as u32))
    }

    /// A statement for `choice`, prepared where it was not.
    pub async fn prepare(&self, ask: &Ask<'_>, choice: &Arc<Choice>) -> Result<PreparedStatement, OpError> {
        let cql = ask.sql.replace("{keyspace}", &self.keyspace);
        let known = self.statements.borrow().get(&cql).cloned();
        let mut prepared = match known {
            Some(known) => known,
            None => {
                let prepared = self.library.prepare(&*cql).await;
                let prepared = prepared.map_err(|error| prepare(&error).with_statement(start(&cql)))?;
                self.statements.borrow_mut().insert(cql, prepared.clone());
                prepared
            }
        };
        prepared.set_consistency(if ask.reads { self.reads } else { self.writes });
        prepared.set_is_idempotent(ask.idempotent);
        prepared.set_page_size(self.page_rows);
        // Answers come without the names and types of their columns, which are known from here on; not those of a
        // conditional write, of which the server says nothing beforehand.
        prepared.set_use_cached_result_metadata(ask.reads);
        prepared.set_load_balancing_policy(Some(choice.clone()));
        Ok(prepared)
    }

    /// An empty one.
    pub fn batch(&self, choice: &Arc<Choice>) -> Batch {
        let mut batch = Batch::new(self.batch);
        batch.set_consistency(self.writes);
        batch.set_load_balancing_policy(Some(choice.clone()));
        batch
    }

    /// One that is asked as it is.
    pub fn unprepared(&self, cql: &str, choice: &Arc<Choice>) -> Statement {
        let mut statement = Statement::new(cql);
        statement.set_page_size(self.page_rows);
        statement.set_load_balancing_policy(Some(choice.clone()));
        statement
    }
}

fn located(target: &Target) -> Result<SocketAddr, Trouble> {
    let Address::Tcp { host, port } = &target.address else {
        return Err(unknown("it is no host"));
    };
    let mut found = (host.as_str(), *port).to_socket_addrs().map_err(unknown)?;
    found.next().ok_or_else(|| unknown("it has no address"))
}

fn unknown(error: impl std::fmt::Display) -> Trouble {
    Trouble::new(
        TroubleKind::Server,
        format!("a node's host is not known: {error}"),
        PLACE,
        "is the address right, and the name known to this machine?",
    )
}

fn trouble(error: &OpError) -> Trouble {
    let hint = "is the cluster up, and is this the address that its nodes give to clients?";
    Trouble::new(TroubleKind::Server, error.to_string(), PLACE, hint)
}

fn level(asked: Consistency) -> Level {
    match asked {
        Consistency::One => Level::One,
        Consistency::Two => Level::Two,
        Consistency::Three => Level::Three,
        Consistency::Quorum => Level::Quorum,
        Consistency::All => Level::All,
        Consistency::LocalQuorum => Level::LocalQuorum,
        Consistency::EachQuorum => Level::EachQuorum,
        Consistency::LocalOne => Level::LocalOne,
    }
}

fn serial_level(asked: SerialConsistency) -> SerialLevel {
    match asked {
        SerialConsistency::Serial => SerialLevel::Serial,
        SerialConsistency::LocalSerial => SerialLevel::LocalSerial,
    }
}

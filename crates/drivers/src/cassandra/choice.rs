//! Which node a request goes to, and which one it went to.
use scylla::cluster::{ClusterState, Node, NodeRef};
use scylla::errors::RequestAttemptError;
use scylla::policies::load_balancing::{FallbackPlan, LoadBalancingPolicy, RoutingInfo};
use scylla::routing::Shard;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The library's own choice, with a note of it: one for each session, which has but one request on its way; of several at once it notes the last.
#[derive(Debug)]
pub struct Choice {
    library: Arc<dyn LoadBalancingPolicy>,
    /// Where the endpoints are, in their order.
    endpoints: Arc<[SocketAddr]>,
    /// Place of the endpoint that was asked last.
    asked: AtomicU32,
}

impl Choice {
    /// `asked`: before anything is.
    pub fn new(library: Arc<dyn LoadBalancingPolicy>, endpoints: Arc<[SocketAddr]>, asked: u32) -> Self {
        Self {
            library,
            endpoints,
            asked: AtomicU32::new(asked),
        }
    }

    pub fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    fn note(&self, node: &Node) {
        let address = SocketAddr::new(node.address.ip(), node.address.port());
        if let Some(place) = self.endpoints.iter().position(|other| *other == address) {
            self.asked.store(place as u32, Ordering::Relaxed);
        }
    }
}

impl LoadBalancingPolicy for Choice {
    fn pick<'a>(
        &'a self,
        request: &'a RoutingInfo,
        cluster: &'a ClusterState,
    ) -> Option<(NodeRef<'a>, Option<Shard>)> {
        let picked = self.library.pick(request, cluster);
        picked.iter().for_each(|(node, _)| self.note(node));
        picked
    }

    /// Taken where the first has no connection: nothing was sent to it.
    fn fallback<'a>(&'a self, request: &'a RoutingInfo, cluster: &'a ClusterState) -> FallbackPlan<'a> {
        let others = self.library.fallback(request, cluster);
        Box::new(others.inspect(|(node, _)| self.note(node)))
    }

    fn on_request_success(&self, request: &RoutingInfo, latency: Duration, node: NodeRef<'_>) {
        self.library.on_request_success(request, latency, node);
    }

    fn on_request_failure(
        &self,
        request: &RoutingInfo,
        latency: Duration,
        node: NodeRef<'_>,
        error: &RequestAttemptError,
    ) {
        self.library.on_request_failure(request, latency, node, error);
    }

    fn name(&self) -> String {
        self.library.name()
    }
}

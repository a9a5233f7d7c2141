//! A table of the kernel's packet filter with one rule: what arrives with this mark goes to this queue. The kernel removes
//! a table that has an owner when the owner's socket is closed, so also if the process is killed (Linux 5.12).
use crate::netlink::{self, ACK, APPEND, CREATE, Message};
use socket2::Socket;
use std::io;

const SUBSYSTEM: u16 = 10; // NFNL_SUBSYS_NFTABLES
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const OWNED: u32 = 2; // NFT_TABLE_F_OWNER
/// Managed servers have no other addresses.
const IPV4: u8 = 2;
/// What arrives: what a program sends counts as sent when it leaves, and not only when it is released.
const LOCAL_IN: u32 = 1;
const MARK: u32 = 3; // NFT_META_MARK
const REGISTER: u32 = 1;
/// Without a program at the queue packets go their way.
const BYPASS: u16 = 1;
const CHAIN: &str = "arriving";

pub struct Rule {
    _owner: Socket,
}

impl Rule {
    pub fn add(mark: u32, queue: u16) -> io::Result<Self> {
        let table = &format!("bakeoff_delay_{}", std::process::id());
        let mut batch = Message::default();
        batch.begin(BATCH_BEGIN, 0, 0, SUBSYSTEM);
        batch
            .begin(NEW_TABLE, CREATE, IPV4, 0)
            .text(1, table)
            .number(2, OWNED);
        batch
            .begin(NEW_CHAIN, CREATE, IPV4, 0)
            .text(1, table)
            .text(3, CHAIN);
        batch
            .nest(4, |hook| {
                hook.number(1, LOCAL_IN).number(2, 0);
            })
            .text(7, "filter");
        batch.begin(NEW_RULE, CREATE | APPEND | ACK, IPV4, 0);
        batch.text(1, table).text(2, CHAIN).nest(4, |expressions| {
            expression(expressions, "meta", |load| {
                load.number(1, REGISTER).number(2, MARK);
            });
            expression(expressions, "cmp", |equal| {
                equal.number(1, REGISTER).number(2, 0).nest(3, |value| {
                    value.attribute(1, &mark.to_ne_bytes());
                });
            });
            // The target that iptables calls by this name: kernels have it more often than nftables' own.
            expression(expressions, "target", |target| {
                let info: Vec<u8> = [queue, 1, BYPASS, 0]
                    .iter()
                    .flat_map(|part| part.to_ne_bytes())
                    .collect();
                target.text(1, "NFQUEUE").number(2, 3).attribute(3, &info);
            });
        });
        batch.begin(BATCH_END, 0, 0, SUBSYSTEM);
        let owner = netlink::open()?;
        netlink::carry_out(&owner, &batch)?;
        Ok(Self { _owner: owner })
    }
}

fn expression(list: &mut Message, name: &str, data: impl FnOnce(&mut Message)) {
    list.nest(1, |one| {
        one.text(1, name).nest(2, data);
    });
}

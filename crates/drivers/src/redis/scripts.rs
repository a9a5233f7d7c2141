//! What changes several keys at once, as one script each: a table's hash, its sorted set, and its records. Their names begin
//! alike, so a cluster has all of them at one node.
use super::line::Turn;
use super::resp::{Element, one};
use bakeoff_model::outcome::OpError;

/// KEYS: the table, its keys. ARGV: the name of the key's column. `made` is the mark by which the table is recognised.
const CREATE: &str = "\
if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then
  return redis.error_reply('EXISTS the table ' .. KEYS[1] .. ' exists')
end
local now = redis.call('TIME')
return redis.call('HSET', KEYS[1], 'key', ARGV[1], 'made', now[1] .. string.format('%06d', now[2]))";

/// KEYS: the table, its keys. ARGV: the number of fields, their names; then of each record its key and its values. All of
/// them are stored, or none.
const INSERT: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOTABLE there is no table ' .. KEYS[1]) end
local fields, seen = tonumber(ARGV[1]), {}
for at = fields + 2, #ARGV, fields + 1 do
  if seen[ARGV[at]] or redis.call('EXISTS', KEYS[1] .. ':' .. ARGV[at]) == 1 then
    return redis.error_reply('DUPLICATE the key ' .. ARGV[at] .. ' exists')
  end
  seen[ARGV[at]] = true
end
local stored = 0
for at = fields + 2, #ARGV, fields + 1 do
  local record = {}
  for field = 1, fields do
    record[2 * field - 1], record[2 * field] = ARGV[1 + field], ARGV[at + field]
  end
  redis.call('HSET', KEYS[1] .. ':' .. ARGV[at], unpack(record))
  redis.call('ZADD', KEYS[2], 0, ARGV[at])
  stored = stored + 1
end
return stored";

/// KEYS: the table, its keys. ARGV: the record's key. A record that the table has not is left alone: it is somebody else's.
const DELETE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOTABLE there is no table ' .. KEYS[1]) end
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
return redis.call('DEL', KEYS[1] .. ':' .. ARGV[1])";

/// KEYS: the table, its keys. ARGV: how many records at most. Removes the table when none is left; how many it removed.
const DROP: &str = "\
local gone = redis.call('ZPOPMIN', KEYS[2], ARGV[1])
for at = 1, #gone, 2 do redis.call('UNLINK', KEYS[1] .. ':' .. gone[at]) end
if #gone == 0 then redis.call('DEL', KEYS[1]) end
return #gone / 2";

/// The name of a script, by which it is called.
pub type Sha = [u8; 40];

/// The same on every server.
#[derive(Clone, Copy)]
pub struct Scripts {
    pub create: Sha,
    pub insert: Sha,
    pub delete: Sha,
    pub drop: Sha,
}

impl Scripts {
    /// In a turn that is nobody else's.
    pub async fn load(turn: &mut Turn) -> Result<Self, OpError> {
        Ok(Self {
            create: load(turn, CREATE).await?,
            insert: load(turn, INSERT).await?,
            delete: load(turn, DELETE).await?,
            drop: load(turn, DROP).await?,
        })
    }
}

async fn load(turn: &mut Turn, script: &str) -> Result<Sha, OpError> {
    turn.send_alone(&[b"SCRIPT", b"LOAD", script.as_bytes()]).await?;
    let sha = turn.answer(|input| {
        one(input, |element| match element {
            Element::Text(sha) => sha.try_into().ok(),
            _ => None,
        })
    });
    sha.await.map_err(|error| error.with_statement("SCRIPT LOAD"))
}

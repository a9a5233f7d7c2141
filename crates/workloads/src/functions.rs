//! Functions that change nothing, on whatever system: statements may call them without a word.
//!
//! A function is here if its documentation says what it returns and nothing that it does. What waits, takes locks, reads or
//! writes files, counts a sequence up, or carries out a text as SQL is not.

const NAMES: &str = "
    abs acos adddate addtime aes_decrypt aes_encrypt age any_value array_agg array_append array_cat array_dims array_length
    array_lower array_ndims array_position array_positions array_prepend array_remove array_replace array_to_json
    array_to_string array_upper ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count bit_length bit_or bit_xor
    bool_and bool_or btrim cardinality cast cbrt ceil ceiling char char_length character_length chr clock_timestamp coalesce
    coercibility collation compress concat concat_ws conv convert convert_tz corr cos cosh cot count covar_pop covar_samp
    crc32 cume_dist curdate current_database current_date current_role current_schema current_time current_timestamp
    current_user curtime database date date_add date_format date_part date_sub date_trunc datediff datetime day dayname
    dayofmonth dayofweek dayofyear decode degrees dense_rank div elt encode every exp export_set extract extractvalue
    factorial field find_in_set first_value floor format format_bytes format_type from_base64 from_days from_unixtime gcd
    gen_random_uuid generate_series generate_subscripts geomfromtext get_format glob greatest group_concat grouping
    hash_numeric hashtext hashtextextended hex hour if ifnull iif inet6_aton inet6_ntoa inet_aton inet_ntoa initcap insert
    instr interval is_ipv4 is_ipv6 is_uuid isfinite isnull json json_agg json_array json_array_append json_array_elements
    json_array_elements_text json_array_insert json_array_length json_arrayagg json_build_array json_build_object
    json_contains json_contains_path json_depth json_detailed json_each json_each_text json_error_position json_exists
    json_extract json_extract_path json_extract_path_text json_group_array json_group_object json_insert json_keys
    json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize json_object json_object_agg
    json_object_keys json_objectagg json_overlaps json_patch json_populate_record json_pretty json_query json_quote
    json_remove json_replace json_search json_set json_storage_size json_strip_nulls json_table json_to_record
    json_to_recordset json_tree json_type json_typeof json_unquote json_valid json_value jsonb jsonb_agg
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
    jsonb_each_text jsonb_extract jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg
    jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first
    jsonb_populate_record jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof julianday
    justify_days justify_hours justify_interval lag last_day last_value lcase lcm lead least left length like likelihood
    likely ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_date make_interval make_set make_time
    make_timestamp make_timestamptz makedate maketime max md5 microsecond mid min minute mod mode month monthname multirange
    name_const nanvl natural_sort_key now nth_value ntile nullif num_nonnulls num_nulls numeric numnode oct octet_length ord
    overlay parse_ident percent_rank percentile_cont percentile_disc period_add period_diff pg_column_size
    pg_get_serial_sequence pg_typeof phraseto_tsquery pi plainto_tsquery point position pow power printf quarter quote
    quote_ident quote_literal quote_nullable radians rand random random_bytes range_agg rank regexp_count regexp_instr
    regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right
    round row row_number row_to_json rpad rtrim scale schema sec_to_time second session_user setweight sformat sha sha1 sha2
    sha224 sha256 sha384 sha512 sign similarity sin sinh soundex space split_part sqlite_version sqrt starts_with
    statement_timestamp std stddev stddev_pop stddev_samp str_to_date strcmp strftime string_agg string_to_array
    string_to_table strip strpos subdate substr substring substring_index subtime sum sys_guid sysdate system_user tan tanh
    time time_format time_to_sec timediff timeofday timestamp timestampadd timestampdiff to_base64 to_char to_date to_days
    to_hex to_json to_jsonb to_number to_seconds to_timestamp to_tsquery to_tsvector total transaction_timestamp translate
    trim trim_array trim_scale trunc truncate ts_headline ts_rank ts_rank_cd ucase unaccent uncompress uncompressed_length
    unhex unicode unistr unix_timestamp unixepoch unlikely unnest updatexml upper user utc_date utc_time utc_timestamp uuid
    uuid_short uuid_to_bin uuidv4 uuidv7 validate_password_strength value values var_pop var_samp variance vec_distance
    vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext version websearch_to_tsquery week weekday weekofyear
    weight_string width_bucket xmlagg xmlconcat xmlelement xmlforest xmlparse year yearweek zeroblob";
/// What they answer was made by an earlier statement of the same session, or is for a later one.
const OF_THE_SESSION: &str =
    "changes currval found_rows last_insert_id last_insert_rowid lastval row_count setseed total_changes";

pub fn is_known(name: &str) -> bool {
    is_independent(name) || is_among(name, OF_THE_SESSION)
}

/// Whether it changes nothing, and any session would answer the same.
pub fn is_independent(name: &str) -> bool {
    is_among(name, NAMES)
}

fn is_among(name: &str, list: &str) -> bool {
    list.split_whitespace()
        .any(|known| known.eq_ignore_ascii_case(name))
}

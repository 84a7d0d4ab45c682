prepare clean_sign_in_1 as
delete from session where id in (
    select id from session where least(expires_at, ended_at) < now() - interval '1 day' limit $1);

prepare clean_sign_in_2 as
delete from mail_token where hash in (
    select hash from mail_token where expires_at < now() limit $1);

prepare clean_sign_in_3 as
delete from login_event where id in (
    select id from login_event where at < now() - interval '90 days' limit $1);

prepare clean_sign_in_4 as
delete from login_event where id in (
    select id from login_event where user_id is null and at < now() - interval '1 day' limit $1);

prepare clean_sign_in_5 as
delete from login_failure where (account, network) in (
    select account, network from login_failure where last_at < now() - interval '1 day' limit $1);

prepare clean_sign_in_6 as
delete from mail_room where (address, kind) in (
    select address, kind from mail_room where spent_until < now() limit $1);

prepare clean_sign_in_7 as
delete from free_credit where mailbox in (
    select mailbox from free_credit where forget_at <= now() limit $1);

prepare hold_credits as
select taken, limit_reached as "limitReached"
  from hold_credits($1::uuid, $2::uuid, $3::uuid, $4::int, $5::int, false);

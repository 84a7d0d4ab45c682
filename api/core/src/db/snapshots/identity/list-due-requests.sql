prepare list_due_requests as
select "id", "kind", "email", "password_hash", "name", "referral_code", "ip_address" from "account_request"
  where "due_at" <= now() order by "due_at", "id" limit $1;

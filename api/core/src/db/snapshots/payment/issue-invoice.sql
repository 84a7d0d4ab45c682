prepare issue_invoice_1 as
select coalesce(w.billing ->> 'name', o.name, w.name) as name, coalesce(w.billing ->> 'email', o.email) as email,
       coalesce(w.billing -> 'addressLines', '[]') as "addressLines", w.billing ->> 'taxId' as "taxId"
  from workspace w left join lateral (
    select u.name, u.email from membership m join app_user u on u.id = m.user_id
     where m.workspace_id = w.id and m.role = 'owner' order by m.created_at limit 1) o on true
 where w.id = $1;

prepare issue_invoice_2 as
insert into invoice_counter as c (year, last) values ($1, 1)
on conflict (year) do update set last = c.last + 1
returning last;

prepare issue_invoice_3 as
insert into "invoice" ("workspace_id", "order_id", "refund_id", "credit_note_for", "corrects", "number", "seller",
  "buyer", "lines", "subtotal", "tax", "total", "currency", "paid_at", "issued_at") values ($1, $2, $3, $4, $5, $6, $7,
  $8, $9, $10, $11, $12, $13, $14, $15);

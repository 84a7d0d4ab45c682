prepare write_alert_settings_1 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare write_alert_settings_2 as
select "low_balance_below" as "lowBalanceThreshold", "expiry_days_before" as "expiryDaysBefore" from "workspace"
  where "id" = $1;

prepare write_alert_settings_3 as
update "workspace" set "low_balance_threshold" = $1, "low_balance_set" = $2, "low_balance_armed" = $3 where "id" = $4;

prepare write_alert_settings_4 as
update "workspace" set "expiry_days_before" = $1 where "id" = $2;

prepare write_alert_settings_5 as
update credit_lot l
   set warn_at = case when not exists (select from credit_expiry_warning w
                                        where w.lot_id = l.id and w.days = $1::int)
                      then expires_at - $2::int * interval '1 day' end
 where workspace_id = $3 and expires_at > now();

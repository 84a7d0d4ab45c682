prepare decide_review_1 as
select "r"."referrer_id" as "userId", "w"."id" as "workspaceId"
  from "referral" as "r" left join "workspace" as "w" on "w"."personal_of" = "r"."referrer_id" where "r"."id" = $1;

prepare decide_review_2 as
select "id", "plan" from "workspace" where "id" = $1 for no key update;

prepare decide_review_3 as
select decided_at + $1 * interval '1 day' as "until" from "referral" where "referrer_id" = $2 and "status" = $3
  and "decided_at" > now() - $4 * interval '1 day' order by "decided_at" desc limit $5 offset $6;

prepare decide_review_4 as
update "referral" set "status" = $1, "decided_at" = now() where "id" = $2 and "status" = $3 returning "credits";

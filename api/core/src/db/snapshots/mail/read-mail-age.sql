prepare read_mail_age as
select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from mail
 where status = 'pending' and (error is null or error !~ '^[45]') order by created_at limit 1;

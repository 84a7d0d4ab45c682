import type { Migration } from 'kysely/migration'
import { up as init } from './0001-init.ts'
import { up as batch } from './0002-batch.ts'
import { up as retention } from './0003-retention.ts'
import { up as rateLimit } from './0004-rate-limit.ts'
import { up as idempotencyOutput } from './0005-idempotency-output.ts'
import { up as webhookEndpoint } from './0006-webhook-endpoint.ts'
import { up as hotRows } from './0007-hot-rows.ts'
import { up as scale } from './0008-scale.ts'
import { up as deliveryReady } from './0009-delivery-ready.ts'
import { up as storageBounds } from './0010-storage-bounds.ts'
import { up as counters } from './0011-counters.ts'
import { up as accounts } from './0012-accounts.ts'
import { up as taskChanges } from './0013-task-changes.ts'
import { up as signIn } from './0014-sign-in.ts'
import { up as twoFactor } from './0015-two-factor.ts'
import { up as credits } from './0016-credits.ts'
import { up as payments } from './0017-payments.ts'
import { up as referral } from './0018-referral.ts'
import { up as notification } from './0019-notification.ts'
import { up as developer } from './0020-developer.ts'
import { up as team } from './0021-team.ts'
import { up as paymentEnds } from './0022-payment-ends.ts'
import { up as people } from './0023-people.ts'
import { up as modelProperties } from './0024-model-properties.ts'
import { up as failingEndpoints } from './0025-failing-endpoints.ts'
import { up as addressKey } from './0026-address-key.ts'
import { up as addressKeys } from './0027-address-keys.ts'
import { up as uniqueAddress } from './0028-unique-address.ts'
import { up as paymentRecords } from './0030-payment-records.ts'
import { up as lowBalance } from './0031-low-balance.ts'
import { up as eventOwners } from './0032-provider-event-owners.ts'
import { up as registrations } from './0033-registrations.ts'
import { up as freeCredits } from './0034-free-credits.ts'
import { up as personalIdempotency } from './0035-personal-idempotency.ts'
import { up as pausedDeliveries } from './0036-paused-deliveries.ts'
import { up as pausedIndex } from './0037-paused-index.ts'
import { up as webhookStream } from './0038-webhook-stream.ts'
import { up as webhookRecords } from './0039-webhook-records.ts'
import { up as doors } from './0040-doors.ts'
import { up as poolRecords } from './0041-pool-records.ts'
import { up as operatorCredential } from './0042-operator-credential.ts'
import { up as usageDetail } from './0043-usage-detail.ts'
import { up as registrationLocale } from './0044-registration-locale.ts'
import { up as unnumberedEvents } from './0045-unnumbered-events.ts'
import { up as growth } from './0047-growth.ts'
import { up as growthIndexes } from './0048-growth-indexes.ts'
import { up as countTasks } from './0049-count-tasks.ts'
import { up as functions } from './0050-functions.ts'
import { up as uploadBounds } from './0051-upload-bounds.ts'
import { up as audit } from './0053-audit.ts'
import { up as disputes } from './0054-disputes.ts'
import { up as unverifiedAccounts } from './0055-unverified-accounts.ts'
import { up as sessionProof } from './0056-session-proof.ts'
import { up as keyLimits } from './0057-key-limits.ts'
import { up as confidence } from './0058-confidence.ts'
import { up as retentionSeconds } from './0061-retention-seconds.ts'
import { up as retentionIndex } from './0062-retention-index.ts'

/** Static, because a folder read at run time differs between checkout, image and test. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-init': { up: init },
  '0002-batch': { up: batch },
  '0003-retention': { up: retention },
  '0004-rate-limit': { up: rateLimit },
  '0005-idempotency-output': { up: idempotencyOutput },
  '0006-webhook-endpoint': { up: webhookEndpoint },
  '0007-hot-rows': { up: hotRows },
  '0008-scale': { up: scale },
  '0009-delivery-ready': { up: deliveryReady },
  '0010-storage-bounds': { up: storageBounds },
  '0011-counters': { up: counters },
  '0012-accounts': { up: accounts },
  '0013-task-changes': { up: taskChanges },
  '0014-sign-in': { up: signIn },
  '0015-two-factor': { up: twoFactor },
  '0016-credits': { up: credits },
  '0017-payments': { up: payments },
  '0018-referral': { up: referral },
  '0019-notification': { up: notification },
  '0020-developer': { up: developer },
  '0021-team': { up: team },
  '0022-payment-ends': { up: paymentEnds },
  '0023-people': { up: people },
  '0024-model-properties': { up: modelProperties },
  '0025-failing-endpoints': { up: failingEndpoints },
  '0026-address-key': { up: addressKey },
  '0027-address-keys': { up: addressKeys },
  '0028-unique-address': { up: uniqueAddress },
  '0030-payment-records': { up: paymentRecords },
  '0031-low-balance': { up: lowBalance },
  '0032-provider-event-owners': { up: eventOwners },
  '0033-registrations': { up: registrations },
  '0034-free-credits': { up: freeCredits },
  '0035-personal-idempotency': { up: personalIdempotency },
  '0036-paused-deliveries': { up: pausedDeliveries },
  '0037-paused-index': { up: pausedIndex },
  '0038-webhook-stream': { up: webhookStream },
  '0039-webhook-records': { up: webhookRecords },
  '0040-doors': { up: doors },
  '0041-pool-records': { up: poolRecords },
  '0042-operator-credential': { up: operatorCredential },
  '0043-usage-detail': { up: usageDetail },
  '0044-registration-locale': { up: registrationLocale },
  '0045-unnumbered-events': { up: unnumberedEvents },
  '0047-growth': { up: growth },
  '0048-growth-indexes': { up: growthIndexes },
  '0049-count-tasks': { up: countTasks },
  '0050-functions': { up: functions },
  '0051-upload-bounds': { up: uploadBounds },
  '0053-audit': { up: audit },
  '0054-disputes': { up: disputes },
  '0055-unverified-accounts': { up: unverifiedAccounts },
  '0056-session-proof': { up: sessionProof },
  '0057-key-limits': { up: keyLimits },
  '0058-confidence': { up: confidence },
  '0061-retention-seconds': { up: retentionSeconds },
  '0062-retention-index': { up: retentionIndex },
}

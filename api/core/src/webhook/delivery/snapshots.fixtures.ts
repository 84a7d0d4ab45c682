// The statements of disabled endpoints and of a first listener, for db/snapshots.test.ts.
import type { Db } from '../../db/database.ts'
import { setAsideDelivery } from '../end-attempt.ts'
import { readMakers } from '../endpoint/endpoint-maker.ts'
import { pauseEndpointDeliveries } from '../endpoint/pause-deliveries.ts'
import { welcomeFirstListener } from '../endpoint/welcome.ts'
import { dropPaused } from './drop-paused.ts'

const claimed = { id: 'delivery', claim: 'claim', attempt: 1, event: 'welcome', endpointId: 'endpoint' }

type Sending = { readonly send: (db: Db) => Promise<unknown>; readonly answers?: readonly (readonly unknown[])[] }

export const endpointStatements: Readonly<Record<string, Sending>> = {
  'webhook/drop-paused': {
    send: (db) => dropPaused(db),
    answers: [[{ id: 'endpoint', newest: 'delivery' }], [{ dropped: 1 }]],
  },
  'webhook/pause-endpoint-deliveries': { send: (db) => pauseEndpointDeliveries(db, 'endpoint') },
  'webhook/read-makers': { send: (db) => readMakers(db, ['endpoint']) },
  'webhook/set-aside-delivery': { send: (db) => setAsideDelivery(db, claimed) },
  'webhook/welcome-first-listener': { send: (db) => welcomeFirstListener(db, 'workspace', 'endpoint') },
}

// Bare loop to compare with `POST /tasks`: the same store read and the recorded SQL as prepared statements, without
// HTTP, validation or query builder. `node bare-create.ts FILE`: FILE has a `BareCreate` as JSON; prints creations per
// second.
import { readFileSync } from 'node:fs'
import { openBucket } from '@matte/core/storage/bucket'
import pg from 'pg'
import type { BareCreate } from './bare.ts'

const { databaseUrl, poolMax, store, recorded, workers, seconds, warmupSeconds } = JSON.parse(
  readFileSync(process.argv[2] ?? '', 'utf8'),
) as BareCreate

const bucket = openBucket(store)
const pool = new pg.Pool({ connectionString: databaseUrl, max: poolMax })
const begun = performance.now()
const measureFromMs = begun + warmupSeconds * 1_000
const endMs = measureFromMs + seconds * 1_000
let made = 0
let turn = 0

async function createOne(): Promise<void> {
  const { rate, findUpload, insert, objectKey } = recorded[turn++ % recorded.length] ?? fail()
  await pool.query({ name: 'rate', text: rate.text, values: [...rate.values] })
  await pool.query({ name: 'upload', text: findUpload.text, values: [...findUpload.values] })
  await bucket.head(objectKey, 16_384)
  await pool.query({ name: 'insert', text: insert.text, values: [...insert.values] })
}

function fail(): never {
  throw new Error('nothing was recorded')
}

await Promise.all(
  Array.from({ length: workers }, async () => {
    for (;;) {
      await createOne()
      const nowMs = performance.now()
      if (nowMs >= endMs) return
      if (nowMs >= measureFromMs) made += 1
    }
  }),
)
await pool.end()
bucket.close()
process.stdout.write(String(made / seconds))

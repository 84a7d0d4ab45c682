// A person with an account, and a gallery of cut-outs.
import { openDatabase } from '@matte/core/db/database'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { pino } from 'pino'
import { givenPerson } from '../../support/app/people.ts'
import { givePassword, password } from '../../support/app/sign-in/given-password.ts'
import { createClient } from '../../support/client.ts'
import { photo } from '../../support/photos.ts'
import { until } from '../../support/until.ts'
import type { Installation } from '../installation.ts'

const photos = ['astronaut.png', 'chelsea.png', 'coffee.png', 'lemur.png'] as const

/** More than one page of the gallery shows at once. */
const tasks = 24

export async function givenMember({ origin, env }: Installation): Promise<{ email: string; password: string }> {
  const { db, stop } = openDatabase({
    url: env.DATABASE_URL ?? '',
    poolMax: 2,
    logger: pino({ level: 'silent' }),
    applicationName: 'matte-bench',
  })
  try {
    const config = { masterKeys: parseMasterKeys(env.MASTER_KEYS ?? ''), publicUrl: origin }
    const person = await givenPerson(db, { url: origin, config })
    await givePassword(db, person)
    const key = generateApiKey()
    await insertApiKey(db, key, { workspaceId: person.workspaceId, name: 'bench', scopes, expiresAt: null })
    const client = createClient(origin, key.key)
    const objectKeys: string[] = []
    for (const name of photos) objectKeys.push(await client.upload(photo(name), { fileName: name }))
    for (let made = 0; made < tasks; made++) {
      // One after the other: the plan allows few at once.
      const { id } = await client.createTask({ imageUrl: objectKeys[made % objectKeys.length] })
      await until('the task has succeeded', async () => (await client.getTask(id)).status === 'succeeded')
    }
    return { email: person.email, password }
  } finally {
    await stop()
  }
}

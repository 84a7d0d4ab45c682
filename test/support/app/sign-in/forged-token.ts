import { readSigningKeys } from '@matte/people/identity/session/signing-keys'
import { SignJWT } from 'jose'
import type { World } from '../../../api/given.ts'
import type { Person } from '../people.ts'

type Changed = { readonly audience?: string; readonly typ?: string; readonly seconds?: number }

/** A token like the service's own, except for the given changes. */
export async function forgeToken(world: Pick<World, 'db' | 'api'>, person: Person, changed: Changed): Promise<string> {
  const { audience = 'matte-app', typ = 'at+jwt', seconds = 60 } = changed
  const { userId, sessionId, workspaceId } = person
  const [key] = await readSigningKeys(world.db, world.api.config.masterKeys)
  if (key === undefined) throw new Error('no key')
  return new SignJWT({ ws: workspaceId, sid: sessionId, role: 'owner' })
    .setProtectedHeader({ alg: 'EdDSA', typ, kid: key.kid })
    .setSubject(userId)
    .setIssuer(world.api.url)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
    .sign(key.privateKey)
}

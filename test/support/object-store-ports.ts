import { isPortFree } from '@matte/local/ports/is-port-free'
import { type ObjectStorePorts, toObjectStorePorts } from '@matte/local/ports/object-store-ports'
import { freePorts } from './free-ports.ts'

/** Any free ports for an object store. */
export async function pickObjectStorePorts(): Promise<ObjectStorePorts> {
  for (;;) {
    const picked = toObjectStorePorts(await freePorts(9))
    // Below the ports that other test programs reserve.
    if (picked.admin > 1_024 && picked.admin < 12_000 && (await isPortFree(picked.admin))) return picked
  }
}

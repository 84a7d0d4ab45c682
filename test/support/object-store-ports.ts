import { isPortFree } from '@matte/local/lifecycle/free-ports'
import { type ObjectStorePorts, toObjectStorePorts } from '@matte/local/ports'
import { freePorts } from './free-ports.ts'

/** Free ports for an object store. */
export async function pickObjectStorePorts(): Promise<ObjectStorePorts> {
  for (;;) {
    const picked = toObjectStorePorts(await freePorts(9))
    // Below the ports that other test programs reserve.
    if (picked.admin > 1_024 && picked.admin < 12_000 && (await isPortFree(picked.admin))) return picked
  }
}

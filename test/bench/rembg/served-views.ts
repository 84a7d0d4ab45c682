import { connectTriton } from '@matte/controller/worker/triton/triton-client'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import type { Installation } from '../installation.ts'

/** Views of the installation's model. */
export async function viewsOf({ tritonAddress }: Installation): Promise<1 | 2> {
  const triton = connectTriton(loadTriton(), tritonAddress)
  try {
    const shape = await triton.readyModel('u2netp')
    if (shape === undefined) throw new Error('model u2netp is not ready')
    return shape.views
  } finally {
    triton.close()
  }
}

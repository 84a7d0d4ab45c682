import { credentials, Metadata } from '@grpc/grpc-js'
import { channelOptions, loadTriton, type StreamResponse } from '@matte/controller/worker/triton/triton-protocol'

export type TritonModel = {
  /** Infers `count` images of `size` × `size` × 3 bytes; returns masks and shape. */
  infer(images: Uint8Array, count: number): Promise<{ alpha: Buffer; datatype: string; shape: number[] }>
  close(): void
}

/** A plain client, which can send several images in a request. */
export function openModel(address: string, model: string, size = 320): TritonModel {
  const client = new (loadTriton())(address, credentials.createInsecure(), channelOptions)
  return {
    async infer(images, count) {
      const stream = client.ModelStreamInfer(new Metadata())
      stream.write({
        model_name: model,
        id: 'test',
        inputs: [{ name: 'image', datatype: 'UINT8', shape: [count, size, size, 3] }],
        outputs: [{ name: 'alpha' }],
        raw_input_contents: [images],
      })
      stream.end()
      const answers: StreamResponse[] = []
      for await (const answer of stream) answers.push(answer as StreamResponse)
      const [answer] = answers
      // The loader omits empty lists, so an error has no outputs.
      if (answer?.error_message) throw new Error(answer.error_message)
      const output = answer?.infer_response?.outputs?.[0]
      const alpha = answer?.infer_response?.raw_output_contents?.[0]
      if (answers.length !== 1 || !output || !alpha) throw new Error(`one request got ${answers.length} responses`)
      return { alpha, datatype: output.datatype, shape: output.shape.map(Number) }
    },
    close: () => client.close(),
  }
}

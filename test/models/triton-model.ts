import { credentials, Metadata } from '@grpc/grpc-js'
import { channelOptions, loadTriton, type StreamResponse } from '@matte/controller/worker/triton/triton-protocol'

export type TritonModel = {
  /** Runs one request of `count` images, `size` × `size` × 3 bytes each; gives their masks and the shape that came. */
  infer(images: Uint8Array, count: number): Promise<{ alpha: Buffer; datatype: string; shape: number[] }>
  close(): void
}

/** A plain client for the model itself: unlike the controller's, it can send more than one image in a request. */
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
      // The loader leaves empty lists out, so an answer with an error has no outputs at all.
      if (answer?.error_message) throw new Error(answer.error_message)
      const output = answer?.infer_response?.outputs?.[0]
      const alpha = answer?.infer_response?.raw_output_contents?.[0]
      if (answers.length !== 1 || !output || !alpha) throw new Error(`one request brought ${answers.length} answers`)
      return { alpha, datatype: output.datatype, shape: output.shape.map(Number) }
    },
    close: () => client.close(),
  }
}

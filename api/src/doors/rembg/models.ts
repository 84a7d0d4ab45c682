/** Model names of rembg 2.0.86, in its order, which its error message shows. */
export const rembgModels = [
  'birefnet-general',
  'birefnet-general-lite',
  'birefnet-general-fp16',
  'birefnet-portrait',
  'birefnet-dis',
  'birefnet-hrsod',
  'birefnet-cod',
  'birefnet-massive',
  'isnet-anime',
  'dis_custom',
  'isnet-general-use',
  'sam',
  'silueta',
  'u2net_cloth_seg',
  'u2net_custom',
  'u2net_human_seg',
  'u2net',
  'u2netp',
  'bria-rmbg',
  'ben_custom',
  'withoutbg',
  'atlascloud',
] as const

export type RembgModel = (typeof rembgModels)[number]

export const defaultRembgModel: RembgModel = 'bria-rmbg'

import sharp from 'sharp'

/**
 * Sets sharp up for a server that works on several images at once. Called once, by main, before the first image.
 * Several images at a time already fill the cores: libvips threads inside one image would only add switching and
 * memory, and its cache of recent operations never hits, because no photo is asked for twice.
 * Loaders other than PNG, JPEG and WebP are blocked, so no SVG, PDF or TIFF parser can be reached by any input.
 */
export function configureSharp(): void {
  sharp.concurrency(1)
  sharp.cache(false)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'] })
}

import manifest from '../../../package.json' with { type: 'json' }

/** Version of the build. */
export const { version } = manifest

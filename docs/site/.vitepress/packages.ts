import type { DefaultTheme, UserConfig } from 'vitepress'

export type Plugin = Extract<
  NonNullable<NonNullable<UserConfig<DefaultTheme.Config>['vite']>['plugins']>[number],
  { name: string }
>

/** Lists the packages in the scripts of the site, for the notices and the contents of the image. */
export const listPackages = (): Plugin => ({
  name: 'packages',
  generateBundle(_options, bundle) {
    if (this.environment.config.consumer !== 'client') return
    const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []))
    const names = modules.flatMap((id) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? [])
    // Without an ending that the API knows, so it is not served.
    this.emitFile({ type: 'asset', fileName: '.packages', source: [...new Set(names)].sort().join('\n') })
  },
})

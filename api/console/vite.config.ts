import { tanstackRouter } from '@tanstack/router-plugin/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** `vite` serves the sources for development and forwards the rest to a running service. */
const service = process.env.MATTE_URL ?? 'http://127.0.0.1:8080'

/** Cookie sessions are for pages of the service, so the forwarded requests name its origin. */
const asOwnPage = { target: service, headers: { origin: new URL(service).origin } }

export default defineConfig({
  root: import.meta.dirname,
  plugins: [
    tanstackRouter({
      target: 'react',
      autoCodeSplitting: true,
      quoteStyle: 'single',
      disableLogging: true,
      // The casts of the generated file are the generator's: it has read each path from the file that it casts.
      routeTreeFileHeader: [
        '// Written by the router plugin from src/routes. Each cast ties a file to the path that the plugin read from it.',
        '// @ts-nocheck The plugin checks what it writes.',
      ],
    }),
    react(),
  ],
  build: {
    target: 'es2022',
    // The policy of the page forbids data: URLs of scripts and styles.
    assetsInlineLimit: 0,
    sourcemap: false,
    // Names of public files and of hashed ones share one folder, which the API serves.
    assetsDir: 'assets',
    manifest: true,
    // For the notices in the image.
    license: { fileName: '.vite/packages.json' },
  },
  server: { proxy: { '/api': asOwnPage, '/docs': service, '/matte': service, '/files': service } },
})

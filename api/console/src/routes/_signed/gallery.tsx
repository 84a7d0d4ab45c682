import { createFileRoute } from '@tanstack/react-router'
import { GalleryPage } from '../../pages/gallery/gallery-page.tsx'
import { parseSearch } from '../../pages/gallery/gallery-search.ts'

export const Route = createFileRoute('/_signed/gallery')({
  component: GalleryPage,
  validateSearch: parseSearch,
})

import { createFileRoute } from '@tanstack/react-router'
import { GalleryPage } from '../../pages/gallery/gallery-page.tsx'

export const Route = createFileRoute('/_signed/gallery')({ component: GalleryPage })

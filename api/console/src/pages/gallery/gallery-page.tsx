import { Page } from '../../ui/page.tsx'

export const GalleryPage = () => <Page title="Gallery">…</Page>

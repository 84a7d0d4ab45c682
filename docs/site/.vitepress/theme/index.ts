import { inBrowser, onContentUpdated, type Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { searchOptions } from '../../search-options.ts'
import { chooseLanguage, rememberLanguage } from './language.ts'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    // Here and not in the configuration, whose functions VitePress would evaluate from text.
    siteData.value.themeConfig.search.options.miniSearch = { searchOptions }
    if (inBrowser) rememberLanguage()
  },
  setup() {
    onContentUpdated(chooseLanguage)
  },
} satisfies Theme

// The HTML document of the status page. It is complete without scripts; the script keeps it up to date.

import { Html, markup } from '../html.js'
import type { PageQuery } from './page-query.js'
import { STYLE } from './page-style.js'
import { type Section, sectionHtml } from './section.js'

/** @param script JavaScript of the page. */
export function statusDocument(
  sections: readonly Section[],
  { search }: PageQuery,
  script: string,
): string {
  return pageDocument(
    'Gatehouse',
    markup`<a class="skip" href="#main">Skip to the content</a>
<header><h1>Gatehouse</h1>
<form role="search" action="/" method="get"><label for="search">Search</label>
<input id="search" name="q" type="search" value="${search}" maxlength="200" autocomplete="off" spellcheck="false"
 placeholder="Route, policy, provider, reason …" aria-keyshortcuts="/"><button class="noscript">Search</button></form>
<div class="live script"><span id="live" role="status">Connecting</span>
<button type="button" id="pause" aria-pressed="false">Pause</button></div>
<nav aria-label="Other pages"><a href="/status">status</a> <a href="/metrics">metrics</a> <a href="/config_dump">config dump</a></nav></header>
<main id="main" tabindex="-1">${sections.map(sectionHtml)}</main>
<script type="module">${new Html(script)}</script>`,
  )
}

/** Returns a document with the style of the status page. */
export const pageDocument = (title: string, body: Html): string =>
  markup`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><link rel="icon" href="data:,"><style>${new Html(STYLE)}</style></head>
<body>${body}</body></html>
`.text

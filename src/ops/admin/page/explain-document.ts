// The page at GET /explain: explains a request without its token, for links of the status page and for typing one in.

import { type Html, markup } from '../html.js'
import { explainCommand, type ExplainWhere, fitsCommand } from './explain-link.js'
import { pageDocument } from './status-document.js'

/** What came of explaining a request. */
export type ExplainedAs =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'problem'; readonly problem: string }
  /** No request was given. */
  | { readonly type: 'none' }

/** @param request METHOD URL, as given. */
export const explainDocument = (
  request: string,
  explained: ExplainedAs,
  where: ExplainWhere,
): string =>
  pageDocument(
    'Explain a request: Gatehouse',
    markup`<header><h1>Explain a request</h1><nav aria-label="Other pages"><a href="/">Gatehouse</a></nav></header>
<main id="main"><form class="asked" action="/explain" method="get"><label for="request">Request</label>
<input id="request" name="request" value="${request}" maxlength="4096" required autocomplete="off" spellcheck="false"
 placeholder="POST https://mcp.example.com/mcp"><button>Explain</button></form>
${resultOf(explained)}
${fitsCommand(request) ? commandOf(request, where) : markup`<p class="dim">METHOD URL. The request is decided as if it had no token. Nothing is sent to backends or webhooks.</p>`}
</main>`,
  )

function resultOf(explained: ExplainedAs): Html | string {
  if (explained.type === 'none') return ''
  return explained.type === 'text'
    ? markup`<pre tabindex="0" aria-label="Explanation">${explained.text}</pre>`
    : markup`<p class="bad">${explained.problem}</p>`
}

const commandOf = (request: string, where: ExplainWhere): Html =>
  markup`<p class="dim">Decided as if the request had no token. With the token in a file:</p>
<code class="command wide">${explainCommand(request, where)}</code>`

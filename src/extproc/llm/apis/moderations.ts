// Replies of OpenAI's and Mistral's moderations: categories with scores, which are no text.

import { formOf } from '../text/form.js'
import { OF_REPLY } from '../text/settings.js'

const CATEGORIES = `harassment harassment/threatening hate hate/threatening illicit illicit/violent self-harm
  self-harm/instructions self-harm/intent sexual sexual/minors violence violence/graphic`

/** The form of what was found about each input. */
export const IN_MODERATION = formOf({ reply: { results: 'inner' } }, OF_REPLY, {
  results: { open: 'categories category_scores category_applied_input_types' },
  category_applied_input_types: { word: CATEGORIES },
})

/* SPDX-License-Identifier: MIT
 *
 * flame/picture.c - a trace as a flame graph, for the exporters folded and svg
 *
 * Runs in:  our own process
 * Gets:     a model and options
 * Gives:    a drawn graph
 * Owns:     the analysis, the drawing
 * Fails:    -ENODATA if the trace has no data for the view, -ENOMEM, errors of the reader
 * Why --kind names the view: duet export has no option --view, and a picture has no kinds of events
 */
#include "flame/picture.h"

#include <errno.h>
#include <string.h>

#include "analyze/filter.h"
#include "analyze/output_options.h"
#include "base/error.h"

int picture_check(const struct output_options *options)
{
	const char *view = options->kinds;

	if (view && !drawing_find_view(view))
		return error_set(-EINVAL, "one --kind at a time: " PICTURE_KINDS);
	if (view && options->pid && (strcmp(view, "total") == 0 || strcmp(view, "idle") == 0))
		return error_set(-EINVAL,
				 "--pid: idle time is a device's, not a process's (--kind gpu, "
				 "cpu, offcpu, launch or stall)");
	return 0;
}

static const char *view_of(const struct output_options *options, const struct analysis *analysis)
{
	if (!options->kinds && options->event)
		return "cpu";
	if (!options->kinds && options->pid && analysis_devices_shown(analysis))
		return "gpu";
	return options->kinds;
}

static int draw(struct picture *picture, const struct output_options *options)
{
	const struct frames_options names = filter_names(options);
	struct drawing *drawing = &picture->drawing;
	const char *reason;
	int error;

	drawing->analysis = picture->analysis;
	drawing->view = drawing_view(view_of(options, picture->analysis), picture->analysis);
	reason = drawing_refusal(drawing);
	if (reason)
		return error_set(-ENODATA, "not measured: %s", reason);
	error = drawing_choose_event(drawing, options->event);
	if (error)
		return error;
	error = drawing_open(drawing, &names);
	return error ? error : drawing_draw(drawing);
}

int picture_open(const struct model *model, const struct output_options *options,
		 struct picture *ret_picture)
{
	struct analysis_options window = filter_window(options);
	int error;

	*ret_picture = (struct picture){
		.drawing = {.model = model, .device = DRAWING_ALL_DEVICES, .pid = options->pid}};
	window.by_thread = options->pid != 0;
	window.finds_iterations = true;
	error = analysis_new(model, &window, &ret_picture->analysis);
	return error ? error : draw(ret_picture, options);
}

void picture_close(struct picture *picture)
{
	drawing_fini(&picture->drawing);
	analysis_free(picture->analysis);
}
